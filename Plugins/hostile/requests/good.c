/* The good citizen: three downloads, and answers to how they fared. Whatever refuses this one refuses too much.
 *
 * H120: The good citizen: three downloads, nothing denied.
 *   library build/good.so
 *   run
 *   expect returned 3/0, works without walls
 */
#include "plugin.h"

static ba_status content_request(const ba_host *host, const ba_content_request *request) {
  static const char *const names[] = {"catalog", "voice", "textures"};
  for (int index = 0; index < 3; index++) {
    ba_download download = sound(names[index]);
    download.file_size = 1000 * (index + 1);
    download.priority = index;
    if (index == 0 && request->kind <= BA_REQUEST_UPDATE) download.flags = BA_DOWNLOAD_ESSENTIAL;
    ba_status status = host->answer(host, &download);
    if (status != BA_OK) return status;
  }
  say(host, "asked for three");
  return BA_OK;
}

static ba_status download_finished(const ba_host *host, const ba_download *download, const char *path) {
  char group[4096], target[8192];
  size_t length = 0;
  if (host->container_path(host, ba_text(GROUP), group, sizeof group, &length) != BA_OK) return BA_FAILED;
  snprintf(target, sizeof target, "%s/%.*s", group, (int)download->identifier.length, download->identifier.bytes);
  return rename(path, target) == 0 ? BA_OK : BA_FAILED;
}

static ba_status download_failed(const ba_host *host, const ba_download *download, const ba_error *error) {
  ba_download again = *download;
  say(host, error->code ? "failed with a code" : "failed without a code");
  again.flags &= ~BA_DOWNLOAD_ESSENTIAL;
  again.unique_identifier = ba_text("");
  return host->schedule(host, &again);
}

BA_EXPORT const ba_extension *background_assets_extension(uint32_t host_abi_version) {
  static const ba_entry_point entries[] = {
      ENTRY(BA_CONTENT_REQUEST, BA_CONTENT_REQUEST_SIGNATURE, content_request),
      ENTRY(BA_DOWNLOAD_FINISHED, BA_DOWNLOAD_FINISHED_SIGNATURE, download_finished),
      ENTRY(BA_DOWNLOAD_FAILED, BA_DOWNLOAD_FAILED_SIGNATURE, download_failed),
  };
  static const ba_extension extension = {sizeof extension, BA_ABI_VERSION, "good citizen", entries, 3};
  return host_abi_version >= BA_ABI_VERSION ? &extension : NULL;
}
