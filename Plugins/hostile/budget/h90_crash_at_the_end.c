/* Uses 200 ms and crashes in order not to be charged.
 *
 * H90: The 200 ms before the crash are charged.
 *   call void()
 *   expect crashed
 */
#include "shared.h"

EXPORT void h90_crash_at_the_end(void) {
  burn(0.2);
  abort();
}
