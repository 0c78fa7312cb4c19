/* Takes a descriptor out of another process.
 *
 * H61: No descriptor is taken from a process.
 *   call i32()
 *   expect returned 1, denied pidfd_open, works without walls
 */
#include "hostile.h"

EXPORT int32_t h61_pidfd_getfd(void) {
  long process = syscall(SYS_pidfd_open, getpid(), 0);
  return process < 0 ? errno : opened(syscall(SYS_pidfd_getfd, process, 1, 0));
}
