/* Fills the scratch directory, which is memory.
 *
 * H31: The scratch directory is memory and full at its size.
 *   call i32()
 *   with --memory 16MiB
 *   expect memoryExceeded|returned 28, works without walls
 */
#include "shared.h"

EXPORT int32_t h31_scratch(void) {
  static const char block[65536];
  char path[4096];
  int32_t code = 0;
  strcpy(path, in_scratch("h31"));
  int file = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return errno;
  for (size_t done = 0; done < MUCH && code == 0; done += sizeof block) {
    ssize_t count = write(file, block, sizeof block);
    if (count < (ssize_t)sizeof block) code = count < 0 ? errno : ENOSPC;
  }
  close(file);
  unlink(path);
  return code;
}
