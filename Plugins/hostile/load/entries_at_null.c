/* H117: a table with entry points nowhere. */
#include "../plugin.h"

EXPORT const ba_extension *background_assets_extension(uint32_t version) {
  static const ba_extension extension = {sizeof extension, BA_ABI_VERSION, "nowhere", NULL, 3};
  (void)version;
  return &extension;
}
