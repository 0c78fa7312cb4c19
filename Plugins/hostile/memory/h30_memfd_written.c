/* A memory file, written and never mapped: no counter of the process shows it.
 *
 * H30: No memory files, which no counter would show.
 *   call i32()
 *   with --memory 16MiB
 *   expect returned 1, denied memfd_create, works without walls
 */
#include "shared.h"

EXPORT int32_t h30_memfd_written(void) {
  static const char block[65536];
  int file = memfd_create("h30", MFD_CLOEXEC);
  if (file < 0) return errno;
  for (size_t done = 0; done < MUCH; done += sizeof block)
    if (write(file, block, sizeof block) < 0) return errno;
  close(file);
  return 0;
}
