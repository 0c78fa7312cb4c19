/* The loader as a program, with the program as its argument.
 *
 * H68: The loader isn't run as a program.
 *   call i32()
 *   expect returned 13|1, denied execve, works without walls
 */
#include "shared.h"

EXPORT int32_t h68_loader(void) {
  char *arguments[] = {"ld.so", "/bin/true", NULL};
  return outcome(execve("/lib64/ld-linux-x86-64.so.2", arguments, NO_ENVIRONMENT));
}
