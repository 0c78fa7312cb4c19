/* Jumps to nowhere: no symbol to name.
 *
 * H78: The report names the signal, and the function where there is one.
 *   call i32()
 *   with --wall 5s
 *   expect crashed
 */
#include "hostile.h"

EXPORT int32_t h78_divide(void) {
  /* With a constant on either side the compiler finds a way around the division. */
  volatile int one = 1, zero = 0;
  return one / zero;
}
