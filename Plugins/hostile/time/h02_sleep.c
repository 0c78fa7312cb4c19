/* Never returns, no CPU used.
 *
 * H02: Sleeps; CPU time near 0 is reported.
 *   call void()
 *   with --wall 300ms
 *   expect wallTimeExceeded
 */
#include "hostile.h"

EXPORT void h02_sleep(void) {
  for (;;) sleep(1000000000);
}
