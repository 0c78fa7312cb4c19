/* Enters another namespace. Where there is no descriptor of one, the call itself is the attempt.
 *
 * H56: No other namespace is entered.
 *   call i32()
 *   expect returned 1, denied setns, works without walls
 */
#include "hostile.h"

#include <spawn.h>

EXPORT int32_t h56_setns(void) {
  int other = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);
  int32_t code = outcome(setns(other, CLONE_NEWUTS));
  if (other >= 0) close(other);
  return code;
}
