/* Fork by its legacy number, which the C library doesn't use.
 *
 * H08: fork(2) by its own number is refused.
 *   call i32()
 *   expect returned 1, denied fork, works without walls
 */
#include "hostile.h"

EXPORT int32_t h08_raw_fork(void) {
  long child = syscall(SYS_fork);
  if (child == 0) _exit(0);
  return outcome(child);
}
