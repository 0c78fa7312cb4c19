/* The entry symbol is there and not exported.
 *
 * H116: As if it weren't there.
 *   run
 *   expect loadFailed
 */
#include "hostile.h"

const void *background_assets_extension(uint32_t version) {
  (void)version;
  return NULL;
}
