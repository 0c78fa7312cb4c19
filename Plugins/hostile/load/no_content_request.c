/* A table without the entry point that is called.
 *
 * H116: The table lacks what is called.
 *   run
 *   expect entryPointMissing
 */
#include "plugin.h"

static ba_status failed(const ba_host *host, const ba_download *download, const ba_error *error) {
  (void)host, (void)download, (void)error;
  return BA_OK;
}

EXPORT const ba_extension *background_assets_extension(uint32_t version) {
  static const ba_entry_point entries[] = {ENTRY(BA_DOWNLOAD_FAILED, BA_DOWNLOAD_FAILED_SIGNATURE, failed)};
  static const ba_extension extension = {sizeof extension, BA_ABI_VERSION, "no content request", entries, 1};
  (void)version;
  return &extension;
}
