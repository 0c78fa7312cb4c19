/* A program by descriptor.
 *
 * H68: No program by descriptor.
 *   call i32()
 *   expect returned 13|1, denied execveat, works without walls
 */
#include "shared.h"

EXPORT int32_t h68_execveat(void) {
  char *arguments[] = {"true", NULL};
  int file = open("/bin/true", O_RDONLY | O_CLOEXEC);
  return outcome(syscall(SYS_execveat, file, "", arguments, NO_ENVIRONMENT, AT_EMPTY_PATH));
}
