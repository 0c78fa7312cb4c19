import Foundation
import Testing

/// The example extension in C, which writes down every callback before it goes on, and ends in those of files whose
/// names begin with `crash`; see Tests/DeliveryRecorder for the app.
enum RecordingExtension {
  static let library = Result {
    let folder = try LibraryTests.folder()
    let includes = "-I '\(Workspace.root)/Sources/CExtension/include' -I '\(Workspace.root)/Plugins/catalog-c'"
    try LibraryTests.compile(source, "-O1 \(includes) -o recording.so", in: folder)
    return folder + "/recording.so"
  }

  private static let source = """
    #define _GNU_SOURCE
    #define background_assets_extension catalog_extension
    #include "catalog.c"
    #undef background_assets_extension
    #include <stdlib.h>
    #include <time.h>

    static char folder[4096];

    static void append(const char *word, ba_string id, long long code) {
      char path[4200], line[512];
      snprintf(path, sizeof path, "%s/record-extension", folder);
      int length = snprintf(line, sizeof line, "%s %.*s %lld\\n", word, (int)id.length, id.bytes, code);
      int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
      if (file < 0 || write(file, line, (size_t)length) != length) abort();
      close(file);
    }

    static int find(const ba_host *host, ba_string id, char *path, size_t capacity) {
      if (!place(host, id, path, capacity)) return 0;
      strcpy(folder, path);
      *strrchr(folder, '/') = 0;
      char *end = strrchr(folder, '/');
      for (char *slash = strstr(folder, "/Library/") + 1; (slash = strchr(slash, '/')); *slash++ = '/')
        *slash = 0, mkdir(folder, 0777);
      mkdir(folder, 0777);
      *end = 0;
      return 1;
    }

    static void work(void) {
      struct timespec now;
      clock_gettime(CLOCK_MONOTONIC, &now);
      usleep((unsigned)(now.tv_nsec / 1000 % 5000));
    }

    static ba_status record_finished(const ba_host *host, const ba_download *download, const char *file) {
      char path[4096];
      if (!find(host, download->identifier, path, sizeof path)) return BA_FAILED;
      append("offered", download->identifier, 0);
      if (download->identifier.length >= 5 && !strncmp(download->identifier.bytes, "crash", 5)) abort();
      if (access(path, F_OK) == 0) append("doubled", download->identifier, 0);
      work();
      if (rename(file, path) != 0) append("lost", download->identifier, 0);
      work();
      append("done", download->identifier, 0);
      return BA_OK;
    }

    static ba_status record_failed(const ba_host *host, const ba_download *download, const ba_error *error) {
      char path[4096];
      if (download->flags & BA_DOWNLOAD_MANIFEST) return BA_OK;
      if (!find(host, download->identifier, path, sizeof path)) return BA_FAILED;
      append("failed", download->identifier, error->code);
      return BA_OK;
    }

    BA_EXPORT const ba_extension *background_assets_extension(uint32_t host_abi_version);
    BA_EXPORT const ba_extension *background_assets_extension(uint32_t host_abi_version) {
      static const ba_entry_point entries[] = {
        {BA_CONTENT_REQUEST, BA_CONTENT_REQUEST_SIGNATURE, (void (*)(void))content_request},
        {BA_DOWNLOAD_FINISHED, BA_DOWNLOAD_FINISHED_SIGNATURE, (void (*)(void))record_finished},
        {BA_DOWNLOAD_FAILED, BA_DOWNLOAD_FAILED_SIGNATURE, (void (*)(void))record_failed},
      };
      static const ba_extension extension = {sizeof extension, BA_ABI_VERSION, "recorder", entries, 3};
      umask(0);
      return host_abi_version >= BA_ABI_VERSION ? &extension : NULL;
    }
    """
}
