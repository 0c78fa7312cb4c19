/* Reads its own. Allowed.
 *
 * H66: Trap: reading its own limits is allowed.
 *   call i32()
 *   expect returned 0, works without walls
 */
#include "shared.h"

EXPORT int32_t h66_read_own(void) {
  struct rlimit limit;
  return outcome(getrlimit(RLIMIT_NOFILE, &limit));
}
