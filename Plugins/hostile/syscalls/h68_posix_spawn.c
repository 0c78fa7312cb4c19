/* A program as a child, the way libraries do it.
 *
 * H68: No program as a child.
 *   call i32()
 *   expect returned 1, denied clone, works without walls
 */
#include "shared.h"

#include <spawn.h>

EXPORT int32_t h68_posix_spawn(void) {
  char *arguments[] = {"true", NULL};
  pid_t child;
  int code = posix_spawn(&child, "/bin/true", NULL, NULL, arguments, NO_ENVIRONMENT);
  if (code == 0) waitpid(child, NULL, 0);
  return code;
}
