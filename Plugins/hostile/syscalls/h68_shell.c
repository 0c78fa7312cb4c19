/* A shell. Canary: `h68-canary` in the container.
 *
 * H68: No shell; canary: no h68-canary in the container.
 *   call i32()
 *   expect returned 13|1, denied execve, works without walls
 */
#include "shared.h"

EXPORT int32_t h68_shell(void) {
  static char command[5000];
  char *arguments[] = {"sh", "-c", command, NULL};
  snprintf(command, sizeof command, "echo > '%s'", in_container("h68-canary"));
  return outcome(execve("/bin/sh", arguments, NO_ENVIRONMENT));
}
