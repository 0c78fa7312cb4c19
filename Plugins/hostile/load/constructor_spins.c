/* A constructor that never returns.
 *
 * H03: While loading.
 *   run
 *   with --wall 300ms
 *   expect wallTimeExceeded
 */
#include "plugin.h"

EXTENSION(three_downloads)

static __attribute__((constructor)) void begin(void) {
  for (volatile unsigned turns = 0;; turns++) {
  }
}
