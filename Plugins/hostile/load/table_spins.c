/* H03: the function that gives the table never returns. */
#include "../plugin.h"

EXPORT const ba_extension *background_assets_extension(uint32_t version) {
  for (volatile uint32_t turns = version;; turns++) {
  }
}
