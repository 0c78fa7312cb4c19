/* A library beside an extension. It also has the entry symbol that the extension itself lacks. */
#include "hostile.h"

EXPORT int neighbour_value(void) { return 42; }
EXPORT const void *background_assets_extension(uint32_t version) {
  (void)version;
  return NULL;
}
