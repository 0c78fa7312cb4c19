/* A table with entry points nowhere.
 *
 * H117: No list is believed.
 *   run
 *   expect loadFailed
 */
#include "plugin.h"

EXPORT const ba_extension *background_assets_extension(uint32_t version) {
  static const ba_extension extension = {sizeof extension, BA_ABI_VERSION, "nowhere", NULL, 3};
  (void)version;
  return &extension;
}
