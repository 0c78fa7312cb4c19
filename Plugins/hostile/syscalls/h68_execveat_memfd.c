/* A program in a memory file: Landlock alone lets it run.
 *
 * H68: No program in a memory file.
 *   call i32()
 *   expect returned 1, denied memfd_create, works without walls
 */
#include "shared.h"

#include <sys/sendfile.h>

EXPORT int32_t h68_execveat_memfd(void) {
  char *arguments[] = {"true", NULL};
  int file = open("/bin/true", O_RDONLY | O_CLOEXEC), memory = memfd_create("h68", MFD_CLOEXEC);
  if (memory < 0) return errno;
  while (sendfile(memory, file, NULL, MIB) > 0) {
  }
  return outcome(syscall(SYS_execveat, memory, "", arguments, NO_ENVIRONMENT, AT_EMPTY_PATH));
}
