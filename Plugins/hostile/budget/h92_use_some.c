/* 100 ms of CPU: what several at once are charged with is the sum.
 *
 * H92: Several at once are charged with the sum of 100 ms each.
 *   call i32()
 *   expect returned 0
 */
#include "shared.h"

EXPORT int32_t h92_use_some(void) {
  burn(0.1);
  return 0;
}
