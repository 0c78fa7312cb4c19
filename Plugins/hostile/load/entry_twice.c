/* The same entry point twice, and one without a function.
 *
 * H117: Ambiguous.
 *   run
 *   expect loadFailed
 */
#include "plugin.h"

EXPORT const ba_extension *background_assets_extension(uint32_t version) {
  static const ba_entry_point entries[] = {
      ENTRY(BA_CONTENT_REQUEST, BA_CONTENT_REQUEST_SIGNATURE, three_downloads),
      ENTRY(BA_CONTENT_REQUEST, BA_CONTENT_REQUEST_SIGNATURE, three_downloads),
  };
  static const ba_extension extension = {sizeof extension, BA_ABI_VERSION, "twice", entries, 2};
  (void)version;
  return &extension;
}
