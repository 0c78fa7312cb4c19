/* Asks for a core dump.
 *
 * H101: No core dump is asked for.
 *   call i32()
 *   expect returned 1, denied prlimit64, works without walls
 */
#include "hostile.h"

#include <sys/resource.h>

EXPORT int32_t h101_core_limit(void) {
  struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
  return outcome(setrlimit(RLIMIT_CORE, &limit));
}
