/* An extension that uses every entry point and says in its log what came of what the header promises. */
#include "plugin.h"

#include <pthread.h>
#include <setjmp.h>

static const ba_host *host_of_all;
/* Where there is a thread that goes on. */
static pthread_t going_on;
static int goes;

static void say_number(const ba_host *host, const char *name, long number) {
  char text[64];
  snprintf(text, sizeof text, "%s %ld", name, number);
  say(host, text);
}

static void answer_headers(const ba_host *host, const char *identifier, size_t count) {
  static ba_header headers[100];
  ba_download download = sound(identifier);
  for (size_t index = 0; index < count; index++) headers[index] = (ba_header){{"X-Name", 6}, {"value", 5}};
  download.http_headers = headers;
  download.http_header_count = count;
  host->answer(host, &download);
}

static void answer_body(const ba_host *host, const char *identifier, const char *bytes, size_t length) {
  ba_download download = sound(identifier);
  download.http_method = ba_text("POST");
  download.http_body.bytes = bytes;
  download.http_body.length = length;
  host->answer(host, &download);
}

/* Asks how much room it takes, then for the path. */
static void ask_for_container(const ba_host *host) {
  size_t needed = 0, length = 0;
  ba_status first = host->container_path(host, ba_text(GROUP), NULL, 0, &needed);
  char *path = malloc(needed);
  ba_status second = host->container_path(host, ba_text(GROUP), path, needed, &length);
  say_number(host, "container", first == BA_FAILED && second == BA_OK && length == strlen(path));
  free(path);
}

/* After content_request has returned; the activity has begun before. */
static void *goes_on(void *unused) {
  usleep(100000);
  ba_download download = sound("later");
  say_number(host_of_all, "schedule", host_of_all->schedule(host_of_all, &download));
  host_of_all->end_activity(host_of_all);
  return unused;
}

static ba_status content_request(const ba_host *host, const ba_content_request *request) {
  static char body[65537];
  (void)request;
  memset(body, 0xfe, sizeof body);
  answer_body(host, "bytes", "\xff\xfe\0\x80", 4);
  answer_body(host, "most-bytes", body, 65536);
  answer_body(host, "too-many-bytes", body, 65537);
  answer_headers(host, "most-headers", 64);
  answer_headers(host, "too-many-headers", 65);
  ask_for_container(host);
  host_of_all = host;
  host->begin_activity(host);
  int code = pthread_create(&going_on, NULL, goes_on, NULL);
  goes = code == 0;
  return code;
}

static ba_status download_finished(const ba_host *host, const ba_download *download, const char *path) {
  char text[64] = "body";
  (void)path;
  for (size_t index = 0; index < download->http_body.length && index < 8; index++)
    snprintf(text + strlen(text), sizeof text - strlen(text), " %02x", download->http_body.bytes[index] & 0xff);
  say(host, text);
  return BA_OK;
}

static jmp_buf out;
static void leaves(void *context, const ba_download *download) { (void)context, (void)download, longjmp(out, 1); }
static void counts(void *context, const ba_download *download) { (void)download, ++*(long *)context; }

/* Says how many downloads are current, then does to visitors what no visitor should. */
static ba_status download_failed(const ba_host *host, const ba_download *download, const ba_error *error) {
  long current = 0;
  (void)download, (void)error;
  /* What it schedules is current as well. */
  if (goes) goes = 0, pthread_join(going_on, NULL);
  ba_status status = host->current_downloads(host, counts, &current);
  say_number(host, "current", status ? status : current);
  for (volatile int index = 0; index < 20; index++)
    if (!setjmp(out)) host->current_downloads(host, leaves, NULL);
  return BA_OK;
}

static void will_terminate(const ba_host *host) { say(host, "will terminate"); }

BA_EXPORT const ba_extension *background_assets_extension(uint32_t host_abi_version) {
  static const ba_entry_point entries[] = {
    ENTRY(BA_CONTENT_REQUEST, BA_CONTENT_REQUEST_SIGNATURE, content_request),
    ENTRY(BA_DOWNLOAD_FINISHED, BA_DOWNLOAD_FINISHED_SIGNATURE, download_finished),
    ENTRY(BA_DOWNLOAD_FAILED, BA_DOWNLOAD_FAILED_SIGNATURE, download_failed),
    ENTRY(BA_WILL_TERMINATE, BA_WILL_TERMINATE_SIGNATURE, will_terminate),
  };
  static const ba_extension extension = {sizeof extension, BA_ABI_VERSION, "contract", entries, 4};
  return host_abi_version >= BA_ABI_VERSION ? &extension : NULL;
}
