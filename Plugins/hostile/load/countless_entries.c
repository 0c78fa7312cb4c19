/* A table that claims more entry points than there can be.
 *
 * H117: No list is believed.
 *   run
 *   expect loadFailed
 */
#include "plugin.h"

EXPORT const ba_extension *background_assets_extension(uint32_t version) {
  static const ba_entry_point entries[] = {ENTRY(BA_CONTENT_REQUEST, BA_CONTENT_REQUEST_SIGNATURE, three_downloads)};
  static const ba_extension extension = {sizeof extension, BA_ABI_VERSION, "countless", entries, (size_t)1 << 60};
  (void)version;
  return &extension;
}
