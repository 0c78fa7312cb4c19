/* The frame of an extension that misbehaves in a content request: each file is an extension of its own, with
   `BEHAVIOUR { … }` as the body of its content request. Where only one download is wrong, a sound one follows it, which
   must be accepted all the same. */
#ifndef HOSTILE_REQUESTS_H
#define HOSTILE_REQUESTS_H

#include "plugin.h"

#define UNUSED (void)request

/* Answers a download, then a sound one. Returns what became of both in one number. */
static inline ba_status with_sound(const ba_host *host, const ba_download *download) {
  ba_status status = host->answer(host, download), second = answer_sound(host, "sound");
  return status ? status : second;
}

static inline ba_status with_identifier(const ba_host *host, const char *bytes, size_t length) {
  ba_download download = sound("");
  download.identifier.bytes = bytes;
  download.identifier.length = length;
  return with_sound(host, &download);
}

static inline ba_status with_url(const ba_host *host, const char *url) {
  ba_download download = sound("odd-url");
  download.url = ba_text(url);
  return with_sound(host, &download);
}

static inline ba_status with_size(const ba_host *host, int64_t size) {
  ba_download download = sound("odd-size");
  download.file_size = size;
  return with_sound(host, &download);
}

static inline ba_status with_priority(const ba_host *host, int64_t priority) {
  ba_download download = sound("odd-priority");
  download.priority = priority;
  return with_sound(host, &download);
}

static inline void visit(void *context, const ba_download *download) {
  const ba_host *host = context;
  (void)download;
  host->current_downloads(host, visit, context);
}

/* The recursion's other half (recursion.c); every one of these extensions has it. */
static inline ba_status schedule_and_recurse(const ba_host *host, const ba_download *download, const ba_error *error) {
  ba_download again = sound("again");
  (void)download, (void)error;
  host->schedule(host, &again);
  return host->current_downloads(host, visit, (void *)(uintptr_t)host);
}

#define BEHAVIOUR                                                                                                      \
  ba_status content_request(const ba_host *host, const ba_content_request *request);                                  \
  BA_EXPORT const ba_extension *background_assets_extension(uint32_t host_abi_version) {                              \
    static const ba_entry_point entries[] = {                                                                         \
        ENTRY(BA_CONTENT_REQUEST, BA_CONTENT_REQUEST_SIGNATURE, content_request),                                     \
        ENTRY(BA_DOWNLOAD_FAILED, BA_DOWNLOAD_FAILED_SIGNATURE, schedule_and_recurse),                                \
    };                                                                                                                \
    static const ba_extension extension = {sizeof extension, BA_ABI_VERSION, "hostile request", entries, 2};          \
    return host_abi_version >= BA_ABI_VERSION ? &extension : NULL;                                                    \
  }                                                                                                                   \
  ba_status content_request(const ba_host *host, const ba_content_request *request)

#endif
