/* A vfork child that sleeps stops its parent too. Bounded, so that a positive control ends.
 *
 * H12: vfork is refused, so no parent hangs on a child.
 *   call i32()
 *   expect returned 1, denied vfork, works without walls
 */
#include "hostile.h"

EXPORT int32_t h12_vfork(void) {
  pid_t child = vfork();
  if (child == 0) {
    struct timespec time = {0, 100000000};
    syscall(SYS_nanosleep, &time, NULL);
    _exit(0);
  }
  return outcome(child);
}
