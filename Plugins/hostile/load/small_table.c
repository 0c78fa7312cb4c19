/* A table that is too small for its version.
 *
 * H117: The message says both sizes.
 *   run
 *   expect loadFailed
 */
#include "plugin.h"

EXPORT const ba_extension *background_assets_extension(uint32_t version) {
  static const ba_extension extension = {8, BA_ABI_VERSION, "small", NULL, 0};
  (void)version;
  return &extension;
}
