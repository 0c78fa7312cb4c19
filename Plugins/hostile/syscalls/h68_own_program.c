/* A program that it wrote itself.
 *
 * H68: No program that it wrote.
 *   call i32()
 *   expect returned 13|1, denied execve, works without walls
 */
#include "shared.h"

EXPORT int32_t h68_own_program(void) {
  char *arguments[] = {"script", NULL}, path[4096];
  strcpy(path, in_container("h68-script"));
  int file = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0700);
  if (file < 0 || write(file, "#!/bin/true\n", 12) < 0) return errno;
  close(file);
  return outcome(execve(path, arguments, NO_ENVIRONMENT));
}
