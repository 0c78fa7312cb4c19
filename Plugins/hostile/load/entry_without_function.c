/* An entry point without a function.
 *
 * H117: Nothing to call.
 *   run
 *   expect loadFailed
 */
#include "plugin.h"

EXPORT const ba_extension *background_assets_extension(uint32_t version) {
  static const ba_entry_point entries[] = {{BA_CONTENT_REQUEST, BA_CONTENT_REQUEST_SIGNATURE, NULL}};
  static const ba_extension extension = {sizeof extension, BA_ABI_VERSION, "no function", entries, 1};
  (void)version;
  return &extension;
}
