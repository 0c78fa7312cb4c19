/* The function that gives the table never returns.
 *
 * H03: While its table is asked for.
 *   run
 *   with --wall 300ms
 *   expect wallTimeExceeded
 */
#include "plugin.h"

EXPORT const ba_extension *background_assets_extension(uint32_t version) {
  for (volatile uint32_t turns = version;; turns++) {
  }
}
