/* Sets a limit by the older call, which the C library doesn't use.
 *
 * H66: Nor by the older call.
 *   call i32()
 *   expect returned 1, denied setrlimit, works without walls
 */
#include "shared.h"

EXPORT int32_t h66_setrlimit(void) {
  struct rlimit limit = highest();
  return outcome(syscall(SYS_setrlimit, RLIMIT_NOFILE, &limit));
}
