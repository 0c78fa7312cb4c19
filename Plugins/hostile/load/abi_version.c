/* A table of a version that no host knows.
 *
 * H116: The message says both versions.
 *   run
 *   expect loadFailed
 */
#include "plugin.h"

EXPORT const ba_extension *background_assets_extension(uint32_t version) {
  static const ba_extension extension = {sizeof extension, 999, "from the future", NULL, 0};
  (void)version;
  return &extension;
}
