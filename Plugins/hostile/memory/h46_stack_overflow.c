/* Recursion without end.
 *
 * H46: The report names the stack.
 *   call i32()
 *   with --memory 64MiB
 *   expect crashed
 */
#include "hostile.h"

static int deeper(volatile char *above) {
  volatile char here[4096];
  here[0] = above[0];
  return *above == 2 ? 0 : deeper(here) + here[0];
}

EXPORT int32_t h46_stack_overflow(void) {
  volatile char first = 1;
  return deeper(&first);
}
