/* Extensions that misbehave in a content request. Each function becomes an extension of its own: the Makefile builds
   this file once for each, with -DREQUEST=function. Where only one download is wrong, a sound one follows it, which
   must be accepted all the same. */
#include "plugin.h"

#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>

#define BEHAVIOUR(name) ba_status name(const ba_host *host, const ba_content_request *request)
#define UNUSED (void)request

/* Answers a download, then a sound one. Returns what became of both in one number. */
static ba_status with_sound(const ba_host *host, const ba_download *download) {
  ba_status status = host->answer(host, download), second = answer_sound(host, "sound");
  return status ? status : second;
}

static ba_status with_identifier(const ba_host *host, const char *bytes, size_t length) {
  ba_download download = sound("");
  download.identifier.bytes = bytes;
  download.identifier.length = length;
  return with_sound(host, &download);
}

static ba_status with_url(const ba_host *host, const char *url) {
  ba_download download = sound("odd-url");
  download.url = ba_text(url);
  return with_sound(host, &download);
}

static ba_status with_size(const ba_host *host, int64_t size) {
  ba_download download = sound("odd-size");
  download.file_size = size;
  return with_sound(host, &download);
}

static ba_status with_priority(const ba_host *host, int64_t priority) {
  ba_download download = sound("odd-priority");
  download.priority = priority;
  return with_sound(host, &download);
}

/* H89: identifiers that would do harm in a terminal, in a log or as a file's name. */
BEHAVIOUR(id_empty) { return UNUSED, with_identifier(host, "", 0); }
BEHAVIOUR(id_nul) { return UNUSED, with_identifier(host, "nul\0nul", 7); }
BEHAVIOUR(id_newline) { return UNUSED, with_identifier(host, "one\nERROR forged line", 21); }
BEHAVIOUR(id_escape) { return UNUSED, with_identifier(host, "\x1b]0;title\a\x1b[2J", 14); }
BEHAVIOUR(id_bidi) { return UNUSED, with_identifier(host, "gpj.\xe2\x80\xae" "exe", 10); }
BEHAVIOUR(id_not_utf8) { return UNUSED, with_identifier(host, "\xff\xfe\xc0\x80", 4); }
BEHAVIOUR(id_path) { return UNUSED, with_identifier(host, "../../../../etc/passwd", 22); }
BEHAVIOUR(id_absolute) { return UNUSED, with_identifier(host, "/etc/passwd", 11); }
BEHAVIOUR(id_long) {
  static char name[65536];
  memset(name, 'n', sizeof name);
  return UNUSED, with_identifier(host, name, sizeof name);
}

/* A length that isn't backed by memory: the runner reads beyond it and crashes, the host doesn't. */
BEHAVIOUR(id_length_lie) { return UNUSED, with_identifier(host, "short", (size_t)1 << 40); }

/* The same identifier twice; and one that differs by case alone, which is another. */
BEHAVIOUR(id_twice) {
  UNUSED;
  answer_sound(host, "same");
  answer_sound(host, "same");
  return answer_sound(host, "SAME");
}

/* H86, H87: URLs that aren't fetched. */
BEHAVIOUR(url_http) { return UNUSED, with_url(host, "http://assets.example.com/file.bin"); }
BEHAVIOUR(url_file) { return UNUSED, with_url(host, "file:///etc/shadow"); }
BEHAVIOUR(url_none) { return UNUSED, with_url(host, "not a URL"); }
BEHAVIOUR(url_empty) { return UNUSED, with_url(host, ""); }
BEHAVIOUR(url_no_host) { return UNUSED, with_url(host, "https:///file.bin"); }
BEHAVIOUR(url_header_injection) { return UNUSED, with_url(host, "https://assets.example.com/\r\nHost: evil.example"); }
BEHAVIOUR(url_long) {
  static char url[65536] = BASE;
  memset(url + strlen(url), 'u', sizeof url - strlen(url) - 1);
  return UNUSED, with_url(host, url);
}

/* Sizes and priorities out of range. */
BEHAVIOUR(size_zero) { return UNUSED, with_size(host, 0); }
BEHAVIOUR(size_negative) { return UNUSED, with_size(host, -1); }
BEHAVIOUR(size_least) { return UNUSED, with_size(host, INT64_MIN); }
BEHAVIOUR(size_most) { return UNUSED, with_size(host, INT64_MAX); }
BEHAVIOUR(priority_1000) { return UNUSED, with_priority(host, 1000); }
BEHAVIOUR(priority_least) { return UNUSED, with_priority(host, INT64_MIN); }

/* A group that it isn't a member of. */
BEHAVIOUR(group_unknown) {
  ba_download download = sound("odd-group");
  download.application_group_identifier = ba_text("group.com.example.someone-else");
  return UNUSED, with_sound(host, &download);
}

/* Essential whatever it was asked for; run it with `--request periodic`. */
BEHAVIOUR(essential_always) {
  ba_download download = sound("essential");
  download.flags = BA_DOWNLOAD_ESSENTIAL;
  return UNUSED, with_sound(host, &download);
}

/* Flags that only the host sets, and ones that don't exist. */
BEHAVIOUR(flags_all) {
  ba_download download = sound("flags");
  download.flags = ~BA_DOWNLOAD_ESSENTIAL;
  return UNUSED, with_sound(host, &download);
}

/* A struct that is too small, and none at all. */
BEHAVIOUR(struct_small) {
  ba_download download = sound("small");
  download.size = 8;
  return UNUSED, with_sound(host, &download) == BA_FAILED ? BA_OK : BA_FAILED;
}
BEHAVIOUR(struct_null) { return UNUSED, with_sound(host, NULL) == BA_FAILED ? BA_OK : BA_FAILED; }

/* Headers that aren't there, and more than anyone needs. */
BEHAVIOUR(headers_injected) {
  static const ba_header headers[] = {{{"X-One\r\nX-Two", 12}, {"1\r\n\r\nbody", 9}}, {{"Host", 4}, {"evil.example", 12}}};
  ba_download download = sound("headers");
  download.http_headers = headers;
  download.http_header_count = 2;
  return UNUSED, with_sound(host, &download);
}
BEHAVIOUR(headers_lie) {
  ba_download download = sound("headers");
  download.http_headers = (const ba_header *)16;
  download.http_header_count = 1000000;
  return UNUSED, with_sound(host, &download);
}

/* H88: a request that is larger than anything that it could ask for. */
BEHAVIOUR(body_long) {
  static char body[1 << 20];
  ba_download download = sound("body");
  download.http_body.bytes = body;
  download.http_body.length = sizeof body;
  return UNUSED, with_sound(host, &download);
}
BEHAVIOUR(headers_long) {
  static char value[1000];
  ba_header headers[64];
  ba_download download = sound("headers");
  UNUSED;
  memset(value, 'v', sizeof value);
  for (int index = 0; index < 64; index++) headers[index] = (ba_header){{"X", 1}, {value, sizeof value}};
  download.http_headers = headers;
  download.http_header_count = 64;
  return with_sound(host, &download);
}

/* H70: says on the channel of calls that this entry point is no function, after something that must be on record. */
BEHAVIOUR(no_function) {
  static const char frame[16] = {0x6f, 0x52, 1, 69, 0, 0, 0, 0, 2};
  (void)host, UNUSED;
  socket(AF_INET, SOCK_STREAM, 0);
  send(3, frame, sizeof frame, MSG_NOSIGNAL);
  wait_forever();
  return BA_OK;
}

/* H23: downloads that are sound each and too long together for one answer. Says how many were refused. */
BEHAVIOUR(long_answer) {
  static char url[8000];
  char name[16];
  ba_status refused = 0;
  memset(url, 'a', sizeof url - 1);
  memcpy(url, "https://a.example/", 18);
  for (int index = 0; index < 600; index++) {
    snprintf(name, sizeof name, "%d", index);
    ba_download download = sound(name);
    download.url = ba_text(url);
    if (host->answer(host, &download)) refused++;
  }
  return UNUSED, refused;
}

/* 100,000 downloads. */
BEHAVIOUR(many) {
  char name[32];
  UNUSED;
  for (int index = 0; index < 100000; index++) {
    snprintf(name, sizeof name, "n%d", index);
    if (answer_sound(host, name) != BA_OK) return index;
  }
  return BA_OK;
}

/* No downloads, which is a fine answer; and a status that isn't. */
BEHAVIOUR(nothing) { return UNUSED, (void)host, BA_OK; }
BEHAVIOUR(status) { return answer_sound(host, "sound"), UNUSED, -77; }

/* H14, H15: a million messages of 4 KiB. */
BEHAVIOUR(log_flood) {
  static char text[4097];
  UNUSED;
  memset(text, 'l', sizeof text - 1);
  for (int index = 0; index < 1000000; index++) say(host, text);
  return answer_sound(host, "sound");
}

/* Control characters in the log, and a message of 1 GiB that isn't there. */
BEHAVIOUR(log_control) {
  UNUSED;
  say(host, "\x1b[31mred\x1b[0m \x1b]52;c;ZXZpbA==\a\r\nERROR a forged line \xe2\x80\xae gnihtyna");
  host->log(host, 12345, ba_text("\x1b[2J"), ba_text("\n"), ba_text("\xff\xfe"));
  return answer_sound(host, "sound");
}

/* Not allowed while a content request runs: 50. */
BEHAVIOUR(schedules) {
  ba_download download = sound("scheduled");
  ba_status status = host->schedule(host, &download);
  answer_sound(host, "sound");
  return UNUSED, status == BA_CALL_FROM_EXTENSION_NOT_ALLOWED ? BA_OK : BA_FAILED;
}

/* Cancels what it never scheduled: 101. */
BEHAVIOUR(cancels) {
  ba_status status = host->cancel(host, ba_text("someone-else"));
  answer_sound(host, "sound");
  return UNUSED, status == BA_DOWNLOAD_NOT_SCHEDULED ? BA_OK : BA_FAILED;
}

static void visit(void *context, const ba_download *download) {
  const ba_host *host = context;
  (void)download;
  host->current_downloads(host, visit, context);
}

/* H16: callback, plugin, callback, … as deep as the host lets it. Needs something scheduled, which only another entry
   point can do: `download_failed` schedules and then recurses. */
BEHAVIOUR(recursion) {
  host->current_downloads(host, visit, (void *)(uintptr_t)host);
  return UNUSED, answer_sound(host, "sound");
}

/* H15: time spent in the host is the plugin's time. */
BEHAVIOUR(callback_loop) {
  UNUSED;
  for (;;) host->current_downloads(host, visit, (void *)(uintptr_t)host);
}

static const ba_host *later_host;
static void *later(void *unused) {
  usleep(20000);
  answer_sound(later_host, "late");
  return unused;
}

/* Answers from a thread after it has returned: nothing is added. */
BEHAVIOUR(answers_late) {
  pthread_t thread;
  later_host = host;
  pthread_create(&thread, NULL, later, NULL);
  return UNUSED, answer_sound(host, "sound");
}

static void *answers_in_parallel(void *number) {
  char name[32];
  for (int index = 0; index < 200; index++) {
    snprintf(name, sizeof name, "t%d-%d", (int)(uintptr_t)number, index);
    answer_sound(later_host, name);
  }
  return NULL;
}

/* Eight threads answer at once: allowed, and each download arrives. */
BEHAVIOUR(answers_from_threads) {
  pthread_t threads[8];
  later_host = host;
  for (uintptr_t index = 0; index < 8; index++) pthread_create(&threads[index], NULL, answers_in_parallel, (void *)index);
  for (int index = 0; index < 8; index++) pthread_join(threads[index], NULL);
  return UNUSED, BA_OK;
}

/* Takes exclusive control and never gives it back: the end of the wake does. */
BEHAVIOUR(keeps_control) {
  ba_status status = host->acquire_exclusive_control(host, BA_NO_TIMEOUT);
  answer_sound(host, "sound");
  return UNUSED, status;
}

/* Gives back what it never took, many times. */
BEHAVIOUR(releases_control) {
  UNUSED;
  for (int index = 0; index < 1000; index++) host->release_exclusive_control(host);
  return answer_sound(host, "sound");
}

/* Begins an activity that never ends: the call's clocks go on. */
BEHAVIOUR(activity_forever) {
  host->begin_activity(host);
  return UNUSED, answer_sound(host, "sound");
}

/* Ends one that never began. */
BEHAVIOUR(activity_underflow) {
  host->end_activity(host);
  return UNUSED, answer_sound(host, "sound");
}

/* Another app's container: 55. A host that maps every group to the one container that it was given answers 0. */
BEHAVIOUR(container_of_other) {
  char path[4096];
  size_t length = 0;
  ba_status status = host->container_path(host, ba_text("group.com.example.someone-else"), path, sizeof path, &length);
  answer_sound(host, "sound");
  return UNUSED, status == BA_OK && length < sizeof path ? BA_OK : status == BA_CALLER_CONNECTION_NOT_ACCEPTED ? BA_OK : BA_FAILED;
}

/* A buffer that is too small, and none. */
BEHAVIOUR(container_no_room) {
  char small[2] = "x";
  size_t length = 0;
  ba_status status = host->container_path(host, ba_text(GROUP), small, 1, &length);
  host->container_path(host, ba_text(GROUP), NULL, 0, NULL);
  answer_sound(host, "sound");
  return UNUSED, status == BA_FAILED && small[0] == 'x' && length > 0 ? BA_OK : 1;
}

/* Writes into the table that the host gave it. It may: the table is its own process's. */
BEHAVIOUR(edits_host) {
  ba_host *table = (ba_host *)(uintptr_t)host;
  UNUSED;
  ba_status status = answer_sound(host, "sound");
  memset(table, 0x41, sizeof *table);
  return status;
}

/* Keeps the manifest's path; writes to the manifest. It is read-only. */
BEHAVIOUR(writes_manifest) {
  char path[4096];
  snprintf(path, sizeof path, "%.*s", (int)request->manifest_path.length, request->manifest_path.bytes);
  int32_t code = opened(open(path, O_WRONLY | O_TRUNC | O_CLOEXEC));
  answer_sound(host, "sound");
  return code == EROFS || code == EACCES ? BA_OK : BA_FAILED;
}

/* H01, H76, H77 from an entry point. */
BEHAVIOUR(spins) {
  UNUSED;
  answer_sound(host, "sound");
  for (volatile unsigned turns = 0;; turns++) {
  }
}
BEHAVIOUR(exits) {
  UNUSED;
  answer_sound(host, "sound");
  _exit(0);
}
BEHAVIOUR(crashes) {
  UNUSED;
  answer_sound(host, "sound");
  abort();
}

/* The recursion's other half, see above; every one of these extensions has it. */
static ba_status schedule_and_recurse(const ba_host *host, const ba_download *download, const ba_error *error) {
  ba_download again = sound("again");
  (void)download, (void)error;
  host->schedule(host, &again);
  return host->current_downloads(host, visit, (void *)(uintptr_t)host);
}

BA_EXPORT const ba_extension *background_assets_extension(uint32_t host_abi_version) {
  static const ba_entry_point entries[] = {
      ENTRY(BA_CONTENT_REQUEST, BA_CONTENT_REQUEST_SIGNATURE, REQUEST),
      ENTRY(BA_DOWNLOAD_FAILED, BA_DOWNLOAD_FAILED_SIGNATURE, schedule_and_recurse),
  };
  static const ba_extension extension = {sizeof extension, BA_ABI_VERSION, "hostile request", entries, 2};
  return host_abi_version >= BA_ABI_VERSION ? &extension : NULL;
}
