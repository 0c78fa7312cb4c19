/* DT_INIT, which comes before the constructors (linked with -init).
 *
 * H03: While loading.
 *   run
 *   with --wall 300ms
 *   expect wallTimeExceeded
 */
#include "plugin.h"

EXTENSION(three_downloads)

EXPORT void begin(void) {
  for (volatile unsigned turns = 0;; turns++) {
  }
}
