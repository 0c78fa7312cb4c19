/* Starts over with fresh counters.
 *
 * H43: No exec resets the counters.
 *   call i32()
 *   expect returned 13|1, denied execve, works without walls
 */
#include "hostile.h"

EXPORT int32_t h43_exec(void) {
  static char *arguments[] = {"true", NULL}, *environment[] = {NULL};
  return outcome(execve("/bin/true", arguments, environment));
}
