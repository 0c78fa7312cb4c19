/* H116: the entry symbol is there and not exported. */
#include "hostile.h"

const void *background_assets_extension(uint32_t version) {
  (void)version;
  return NULL;
}
