/* Changes a limit of another process: process 1. The values are those that it has.
 *
 * H66: No other process's limits.
 *   call i32()
 *   expect returned 1, denied prlimit64, works without walls
 */
#include "shared.h"

EXPORT int32_t h66_other(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_CORE, &limit) < 0) return errno;
  return outcome(syscall(SYS_prlimit64, 1, RLIMIT_CORE, &limit, NULL));
}
