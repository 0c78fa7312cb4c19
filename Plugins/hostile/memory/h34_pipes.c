/* Pipes, each filled, until no more descriptors are left.
 *
 * H34: Pipe buffers end with the descriptors (EMFILE), or count as kernel memory.
 *   call i32()
 *   with --memory 8MiB
 *   expect returned|memoryExceeded 24, works without walls
 */
#include "hostile.h"

EXPORT int32_t h34_pipes(void) {
  static const char block[65536];
  for (int ends[2], count = 0; count < 400; count++) {
    if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) < 0) return errno;
    if (write(ends[1], block, sizeof block) < 0) return errno;
  }
  return 0;
}
