import Foundation
import Testing

/// An extension in C that does what the identifier of a download tells it, and logs what it gets.
enum ServicesPlugin {
  static let library = Result {
    let folder = try LibraryTests.folder()
    try LibraryTests.compile(source, "-O1 -I '\(Workspace.root)/Sources/CExtension/include' -o services.so", in: folder)
    return folder + "/services.so"
  }

  static let group = "group.one"

  private static let source = """
    #define _GNU_SOURCE
    #include "background_assets_extension.h"
    #include <fcntl.h>
    #include <pthread.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <sys/stat.h>
    #include <unistd.h>

    static const ba_host *kept;
    static char text[9000];

    static int is(const ba_download *download, const char *name) {
      return download->identifier.length == strlen(name) && !memcmp(download->identifier.bytes, name, strlen(name));
    }
    static void say(const char *line) { kept->log(kept, BA_LOG_INFO, ba_text("test"), ba_text("test"), ba_text(line)); }
    static void number(const char *name, long long value) {
      char line[256];
      snprintf(line, sizeof line, "%s %lld", name, value);
      say(line);
    }
    static ba_download sound(const char *identifier) {
      ba_download download;
      memset(&download, 0, sizeof download);
      download.size = sizeof download;
      download.identifier = ba_text(identifier);
      download.url = ba_text("https://assets.example.com/file.bin");
      download.application_group_identifier = ba_text("group.one");
      download.file_size = 1000;
      return download;
    }
    static void visit(void *context, const ba_download *download) {
      snprintf(text, sizeof text, "visited %.*s", (int)download->identifier.length, download->identifier.bytes);
      say(text);
    }
    static void container(const char *group) {
      char path[4096];
      size_t length = 0;
      ba_status status = kept->container_path(kept, ba_text(group), path, sizeof path, &length);
      snprintf(text, sizeof text, "container %s %d %s", group, status, status == BA_OK ? path : "-");
      say(text);
      if (status != BA_OK) return;
      strcat(path, "/from-the-extension");
      int file = open(path, O_CREAT | O_EXCL | O_WRONLY, 0644);
      number("made", write(file, group, strlen(group)));
      close(file);
    }
    static ba_status content_request(const ba_host *host, const ba_content_request *request) {
      kept = host;
      ba_download download = sound("a"), foreign = sound("f");
      foreign.application_group_identifier = ba_text("group.foreign");
      host->answer(host, &download);
      host->answer(host, &foreign);
      number("scheduled", host->schedule(host, &download));
      number("remaining", request->restricted_download_size_remaining);
      number("essential", request->restricted_essential_download_size_remaining);
      container("group.one");
      container("group.two");
      container("group.foreign");
      return BA_OK;
    }

    static void *acquires(void *none) {
      number("acquired", kept->acquire_exclusive_control(kept, BA_NO_TIMEOUT));
      kept->release_exclusive_control(kept);
      return none;
    }
    static void *acquires_in_activity(void *none) {
      acquires(none);
      kept->end_activity(kept);
      return none;
    }
    static void *sings(void *none) {
      for (int index = 0; index < 50; index++) kept->current_downloads(kept, visit, 0);
      return none;
    }
    /* Two questions of the runner's protocol in one write, made by hand. */
    static void forge(void) {
      unsigned char frames[32] = {0x6f, 0x52, 1, 131, 0, 0, 0, 0, 200, 0, 0, 0, 0, 0, 0, 0,
                                  0x6f, 0x52, 1, 131, 0, 0, 0, 0, 201};
      if (write(4, frames, sizeof frames) != sizeof frames) abort();
    }

    static ba_status download_failed(const ba_host *host, const ba_download *download, const ba_error *error) {
      pthread_t thread;
      kept = host;
      ba_download other = sound("later");
      if (is(download, "schedule")) number("scheduled", host->schedule(host, &other));
      if (is(download, "essential")) {
        other.flags = BA_DOWNLOAD_ESSENTIAL;
        number("scheduled", host->schedule(host, &other));
        other = sound("later");
        other.application_group_identifier = ba_text("group.foreign");
        number("scheduled", host->schedule(host, &other));
      }
      if (is(download, "cancel")) number("cancelled", host->cancel(host, ba_text("x")));
      if (is(download, "current")) number("current", host->current_downloads(host, visit, 0));
      if (is(download, "try")) number("acquired", host->acquire_exclusive_control(host, 0));
      if (is(download, "acquire")) acquires(0);
      if (is(download, "keep")) number("acquired", host->acquire_exclusive_control(host, BA_NO_TIMEOUT));
      if (is(download, "keep-crash")) {
        host->acquire_exclusive_control(host, BA_NO_TIMEOUT);
        abort();
      }
      if (is(download, "release")) for (int index = 0; index < 1000; index++) host->release_exclusive_control(host);
      if (is(download, "activity")) {
        host->begin_activity(host);
        pthread_create(&thread, 0, acquires_in_activity, 0);
      }
      if (is(download, "between")) {
        /* Frozen before it asks, the thread would never ask: the test answers when it has. */
        pthread_create(&thread, 0, acquires, 0);
        host->schedule(host, &other);
      }
      if (is(download, "threads")) {
        pthread_t singers[4];
        pthread_create(&thread, 0, acquires, 0);
        for (int index = 0; index < 4; index++) pthread_create(&singers[index], 0, sings, 0);
        for (int index = 0; index < 4; index++) pthread_join(singers[index], 0);
        number("scheduled", host->schedule(host, &other));
        pthread_join(thread, 0);
      }
      if (is(download, "two")) {
        host->acquire_exclusive_control(host, BA_NO_TIMEOUT);
        pthread_create(&thread, 0, acquires, 0);
        number("scheduled", host->schedule(host, &other));
        host->release_exclusive_control(host);
        pthread_join(thread, 0);
      }
      if (is(download, "forge")) {
        forge();
        pause();
      }
      return error ? BA_OK : BA_FAILED;
    }

    static void target(char *path, const ba_download *download) {
      size_t length = 0;
      kept->container_path(kept, download->application_group_identifier, path, 4096, &length);
      snprintf(path + length, 4096, "/taken");
    }
    static ba_status download_finished(const ba_host *host, const ba_download *download, const char *path) {
      char there[8192], folder[4096];
      struct stat status;
      kept = host;
      target(there, download);
      say(path);
      strcpy(folder, path);
      *strrchr(folder, '/') = 0;
      number("inode", stat(path, &status) == 0 ? (long long)status.st_ino : -1);
      if (is(download, "take") || is(download, "take-crash")) number("renamed", rename(path, there));
      if (is(download, "link") || is(download, "link-crash")) number("linked", link(path, there));
      if (is(download, "folder") || is(download, "folder-crash")) number("renamed", rename(folder, there));
      if (is(download, "incoming-crash")) {
        *strrchr(folder, '/') = 0;
        number("renamed", rename(folder, there));
      }
      if (is(download, "delete")) unlink(path);
      if (is(download, "write") || is(download, "write-crash")) {
        int file = open(path, O_WRONLY);
        number("written", pwrite(file, "X", 1, 0));
        close(file);
      }
      if (is(download, "exchange-crash")) {
        rename(path, there);
        close(open(path, O_CREAT | O_EXCL | O_WRONLY, 0644));
      }
      if (download->identifier.length > 6 && !memcmp(download->identifier.bytes + download->identifier.length - 6, "-crash", 6))
        abort();
      return BA_OK;
    }

    static ba_status challenge(const ba_host *host, const ba_download *download, const ba_challenge *question,
                               ba_challenge_answer *answer) {
      kept = host;
      snprintf(text, sizeof text, "asked %.*s:%d %.*s %.*s %.*s %lld", (int)question->host.length, question->host.bytes,
               question->port, (int)question->protocol.length, question->protocol.bytes, (int)question->realm.length,
               question->realm.bytes, (int)question->authentication_method.length, question->authentication_method.bytes,
               (long long)question->previous_failure_count);
      say(text);
      if (is(download, "silent")) return BA_OK;
      answer->disposition = BA_USE_CREDENTIAL;
      strcpy(answer->user, "mallory");
      strcpy(answer->password, "s3cret");
      if (is(download, "fails")) return BA_FAILED;
      if (is(download, "longest")) {
        memset(answer->user, 'u', 255);
        memset(answer->password, 'p', 1023);
      }
      if (is(download, "long-user")) memset(answer->user, 'u', sizeof answer->user);
      if (is(download, "long-password")) memset(answer->password, 'p', sizeof answer->password);
      if (is(download, "not-utf8")) answer->user[0] = (char)0xff;
      if (is(download, "empty")) answer->user[0] = answer->password[0] = 0;
      if (is(download, "cancels")) answer->disposition = BA_CANCEL_CHALLENGE;
      if (is(download, "rejects")) answer->disposition = BA_REJECT_PROTECTION_SPACE;
      if (is(download, "unknown")) answer->disposition = 99;
      if (is(download, "sleeps")) pause();
      return BA_OK;
    }

    #define ENTRY(name, function) {name, name##_SIGNATURE, (void (*)(void))(function)}
    BA_EXPORT const ba_extension *background_assets_extension(uint32_t version) {
      static const ba_entry_point entries[] = {
        ENTRY(BA_CONTENT_REQUEST, content_request), ENTRY(BA_DOWNLOAD_FINISHED, download_finished),
        ENTRY(BA_DOWNLOAD_FAILED, download_failed), ENTRY(BA_AUTHENTICATION_CHALLENGE, challenge),
      };
      static const ba_extension extension = {sizeof extension, BA_ABI_VERSION, "services", entries, 4};
      return version >= BA_ABI_VERSION ? &extension : 0;
    }
    """
}
