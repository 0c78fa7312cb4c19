/* An entry point with another signature than the host calls.
 *
 * H117: The message says both signatures.
 *   run
 *   expect loadFailed
 */
#include "plugin.h"

EXPORT const ba_extension *background_assets_extension(uint32_t version) {
  static const ba_entry_point entries[] = {ENTRY(BA_CONTENT_REQUEST, "i32(pointer)", three_downloads)};
  static const ba_extension extension = {sizeof extension, BA_ABI_VERSION, "wrong signature", entries, 1};
  (void)version;
  return &extension;
}
