/* An extension with one behaviour, chosen when it is built: -DBEHAVIOUR=GOOD and so on. */
#include "background_assets_extension.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
  GOOD = 1, BAD_IDS, BAD_VALUES, LOG_FLOOD, LOG_CONTROL_CHARS, SCHEDULE_IN_REQUEST, RECURSION, ENDLESS_ACTIVITY,
  WRONG_THREAD_SPIN, WRONG_THREAD_CALLBACK, SLOW_CALLBACKS, EARLY_ANSWER
};
#ifndef BEHAVIOUR
#define BEHAVIOUR GOOD
#endif
#define GROUP "group.com.example.hostile"
#define URL "https://assets.example.com/"

static ba_string counted(const char *bytes, size_t length) {
  ba_string string;
  string.bytes = bytes;
  string.length = length;
  return string;
}

static ba_download download(ba_string identifier, const char *url, int64_t size) {
  ba_download wanted;
  memset(&wanted, 0, sizeof wanted);
  wanted.size = sizeof wanted;
  wanted.identifier = identifier;
  wanted.url = ba_text(url);
  wanted.application_group_identifier = ba_text(GROUP);
  wanted.file_size = size;
  return wanted;
}

static void say(const ba_host *host, ba_string message) {
  host->log(host, BA_LOG_DEFAULT, ba_text("com.example.hostile"), ba_text("hostile"), message);
}

static ba_status answer(const ba_host *host, const ba_download *wanted) { return host->answer(host, wanted); }

/* Three downloads that nothing is wrong with. */
static ba_status good(const ba_host *host) {
  static const char *const names[] = {"one", "two", "three"};
  for (int n = 0; n < 3; n++) {
    char url[64];
    snprintf(url, sizeof url, URL "%s", names[n]);
    const ba_download wanted = download(ba_text(names[n]), url, 1000 + n);
    if (answer(host, &wanted) != BA_OK) return BA_FAILED;
  }
  return BA_OK;
}

/* H89: identifiers with NUL, a line end, 64 KiB, text direction, invalid UTF-8, a path; one twice; one that is good */
static ba_status bad_ids(const ba_host *host) {
  static char longest[65536];
  memset(longest, 'i', sizeof longest);
  const ba_string ids[] = {
    counted("nul\0nul", 7), ba_text("line\nend"), counted(longest, sizeof longest), ba_text("abc\xe2\x80\xae" "cba"),
    ba_text("\xff\xfe"), ba_text("../../../../etc/cron.d/h89"), ba_text(""), ba_text("\x1b]0;title\a"),
    ba_text("twice"), ba_text("twice"), ba_text("good"),
  };
  for (size_t n = 0; n < sizeof ids / sizeof *ids; n++) {
    const ba_download wanted = download(ids[n], URL "file", 1000);
    answer(host, &wanted);
  }
  return BA_OK;
}

/* H87: essential whatever was asked, sizes, priorities, addresses and sizes of structures that aren't allowed; one that is good */
static ba_status bad_values(const ba_host *host) {
  ba_download wanted = download(ba_text("essential"), URL "file", 1000);
  wanted.flags = BA_DOWNLOAD_ESSENTIAL;
  answer(host, &wanted);
  wanted = download(ba_text("size-zero"), URL "file", 0);
  answer(host, &wanted);
  wanted = download(ba_text("size-negative"), URL "file", -1);
  answer(host, &wanted);
  wanted = download(ba_text("size-max"), URL "file", INT64_MAX);
  answer(host, &wanted);
  wanted = download(ba_text("priority"), URL "file", 1000);
  wanted.priority = 1000;
  answer(host, &wanted);
  wanted = download(ba_text("http"), "http://assets.example.com/file", 1000);
  answer(host, &wanted);
  wanted = download(ba_text("file"), "file:///etc/shadow", 1000);
  answer(host, &wanted);
  wanted = download(ba_text("not-a-url"), "not a url\r\nHost: other", 1000);
  answer(host, &wanted);
  wanted = download(ba_text("group"), URL "file", 1000);
  wanted.application_group_identifier = ba_text("group.com.example.someone-else");
  answer(host, &wanted);
  wanted = download(ba_text("flags"), URL "file", 1000);
  wanted.flags = 0xfffffff8u;
  answer(host, &wanted);
  wanted = download(ba_text("struct-size"), URL "file", 1000);
  wanted.size = 8;
  answer(host, &wanted);
  wanted = download(ba_text("good"), URL "file", 1000);
  return answer(host, &wanted);
}

/* H14: logs without end */
static ba_status log_flood(const ba_host *host) {
  static char line[4096];
  memset(line, 'l', sizeof line);
  for (volatile int on = 1; on;) say(host, counted(line, sizeof line));
  return BA_OK;
}

/* H14: a log line that would change a terminal or look like another line */
static ba_status log_control_chars(const ba_host *host) {
  static const char line[] = "\x1b[2J\x1b]0;owned\a\r\nforged line\0after\x9b" "1m\xff\xe2\x80\xae";
  say(host, counted(line, sizeof line - 1));
  host->log(host, 12345, ba_text("sub\nsystem"), ba_text("cat\x1b[0m"), ba_text("\xc0\xaf"));
  return good(host);
}

/* H116: schedules while it may only answer; the status is 0 when the host refused with 50 */
static ba_status schedule_in_request(const ba_host *host) {
  const ba_download wanted = download(ba_text("scheduled"), URL "file", 1000);
  return host->schedule(host, &wanted) == BA_CALL_FROM_EXTENSION_NOT_ALLOWED ? BA_OK : BA_FAILED;
}

/* H16: asks for the downloads from within the visit of the downloads, a thousand deep at most */
static int deepest;
static void visit(void *context, const ba_download *unused) {
  const ba_host *host = context;
  (void)unused;
  if (++deepest < 1000) host->current_downloads(host, visit, context);
}
static ba_status recursion(const ba_host *host) {
  for (int n = 0; n < 1000; n++) host->current_downloads(host, visit, (void *)(uintptr_t)host);
  return BA_OK;
}

/* H15: work that goes on for ever after the return */
static ba_status endless_activity(const ba_host *host) {
  for (int n = 0; n < 100; n++) host->begin_activity(host);
  return BA_OK;
}

/* H07: another thread spins on after the return, with an activity that keeps the process alive */
static void *spin(void *unused) { (void)unused; for (volatile unsigned n = 0;; n++) {} return NULL; }
static ba_status wrong_thread_spin(const ba_host *host) {
  pthread_t thread;
  host->begin_activity(host);
  return pthread_create(&thread, NULL, spin, NULL) == 0 ? BA_OK : BA_FAILED;
}

/* H70: four threads answer at once while the request returns: each answer is whole, late ones are refused */
static void *answer_on(void *context) {
  const ba_host *host = context;
  for (int n = 0; n < 100; n++) { const ba_download wanted = download(ba_text("thread"), URL "file", 1000); host->answer(host, &wanted); }
  return NULL;
}
static ba_status wrong_thread_callback(const ba_host *host) {
  pthread_t threads[4];
  for (int n = 0; n < 4; n++) if (pthread_create(&threads[n], NULL, answer_on, (void *)(uintptr_t)host)) return BA_FAILED;
  for (int n = 0; n < 4; n++) pthread_join(threads[n], NULL);
  return good(host);
}

/* H15: lets time pass in the host: waits for a lock that it holds */
static ba_status slow_callbacks(const ba_host *host) {
  for (volatile int on = 1; on;) {
    host->acquire_exclusive_control(host, BA_NO_TIMEOUT);
    host->current_downloads(host, visit, (void *)(uintptr_t)host);
  }
  return BA_OK;
}

/* H70: answers outside of a request, from a thread that outlives it */
static void *answer_late(void *context) {
  const ba_host *host = context;
  usleep(50000);
  const ba_download wanted = download(ba_text("late"), URL "late", 1000);
  host->answer(host, &wanted);
  host->end_activity(host);
  return NULL;
}
static ba_status early_answer(const ba_host *host) {
  pthread_t thread;
  host->begin_activity(host);
  if (pthread_create(&thread, NULL, answer_late, (void *)(uintptr_t)host)) return BA_FAILED;
  return good(host);
}

static ba_status content_request(const ba_host *host, const ba_content_request *request) {
  (void)request;
  switch (BEHAVIOUR) {
  case BAD_IDS: return bad_ids(host);
  case BAD_VALUES: return bad_values(host);
  case LOG_FLOOD: return log_flood(host);
  case LOG_CONTROL_CHARS: return log_control_chars(host);
  case SCHEDULE_IN_REQUEST: return schedule_in_request(host);
  case RECURSION: return recursion(host);
  case ENDLESS_ACTIVITY: return endless_activity(host);
  case WRONG_THREAD_SPIN: return wrong_thread_spin(host);
  case WRONG_THREAD_CALLBACK: return wrong_thread_callback(host);
  case SLOW_CALLBACKS: return slow_callbacks(host);
  case EARLY_ANSWER: return early_answer(host);
  default: return good(host);
  }
}

BA_EXPORT const ba_extension *background_assets_extension(uint32_t host_abi_version) {
  static const ba_entry_point entries[] = {
    {BA_CONTENT_REQUEST, BA_CONTENT_REQUEST_SIGNATURE, (void (*)(void))content_request},
  };
  static const ba_extension extension = {sizeof extension, BA_ABI_VERSION, "hostile", entries, 1};
  return host_abi_version >= BA_ABI_VERSION ? &extension : NULL;
}
