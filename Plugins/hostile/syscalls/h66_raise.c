/* Sets a limit of its own.
 *
 * H66: No limit is raised.
 *   call i32()
 *   expect returned 1, denied prlimit64, works without walls
 */
#include "shared.h"

EXPORT int32_t h66_raise(void) {
  struct rlimit limit = highest();
  return outcome(prlimit(0, RLIMIT_NOFILE, &limit, NULL));
}
