/* The frame of a hostile extension: the table with a content request, and what answers a download. */
#ifndef HOSTILE_PLUGIN_H
#define HOSTILE_PLUGIN_H

#include "background_assets_extension.h"
#include "hostile.h"

#define GROUP "group.com.example.hostile"
#define BASE "https://assets.example.com/"

/* A download that nothing is wrong with. */
static inline ba_download sound(const char *identifier) {
  ba_download download;
  memset(&download, 0, sizeof download);
  download.size = sizeof download;
  download.identifier = ba_text(identifier);
  download.url = ba_text(BASE "file.bin");
  download.application_group_identifier = ba_text(GROUP);
  download.file_size = 1000;
  return download;
}

static inline ba_status answer_sound(const ba_host *host, const char *identifier) {
  ba_download download = sound(identifier);
  return host->answer(host, &download);
}

static inline void say(const ba_host *host, const char *text) {
  host->log(host, BA_LOG_INFO, ba_text("hostile"), ba_text("test"), ba_text(text));
}

/* The usual answer, for extensions whose trick lies elsewhere: three downloads. */
static inline ba_status three_downloads(const ba_host *host, const ba_content_request *request) {
  (void)request;
  return answer_sound(host, "one") || answer_sound(host, "two") || answer_sound(host, "three") ? BA_FAILED : BA_OK;
}

#define ENTRY(name, signature, function) {name, signature, (void (*)(void))(function)}

/* Exports a table with one content request. */
#define EXTENSION(function)                                                                                          \
  BA_EXPORT const ba_extension *background_assets_extension(uint32_t host_abi_version) {                             \
    static const ba_entry_point entries[] = {ENTRY(BA_CONTENT_REQUEST, BA_CONTENT_REQUEST_SIGNATURE, function)};      \
    static const ba_extension extension = {sizeof extension, BA_ABI_VERSION, "hostile", entries, 1};                 \
    return host_abi_version >= BA_ABI_VERSION ? &extension : NULL;                                                   \
  }

#endif
