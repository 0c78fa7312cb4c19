/* A setuid program.
 *
 * H68: No setuid program.
 *   call i32()
 *   expect returned 13|1, denied execve, works without walls
 */
#include "shared.h"

EXPORT int32_t h68_setuid_program(void) {
  char *arguments[] = {"su", "--version", NULL};
  return outcome(execve("/bin/su", arguments, NO_ENVIRONMENT));
}
