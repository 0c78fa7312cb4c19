/* 64 MiB of output in a single line, then returns.
 *
 * H14: 64 MiB of output in one line is cut off and counted, and the call returns.
 *   call i32()
 *   expect returned 0
 */
#include "hostile.h"

EXPORT int32_t h14_output_once(void) {
  static char block[65536];
  memset(block, 'x', sizeof block);
  for (size_t done = 0; done < 64 * MIB; done += sizeof block)
    if (write(1, block, sizeof block) < 0) return errno;
  return 0;
}
