/* Pushes its pages out to look small.
 *
 * H48: Pages pushed out count.
 *   call i32()
 *   with --memory 16MiB
 *   expect memoryExceeded
 */
#include "shared.h"

EXPORT int32_t h48_pageout(void) {
  char *memory = anonymous(MUCH);
  if (!memory) return errno;
  for (size_t at = 0; at < MUCH; at += MIB) {
    touch(memory + at, MIB);
    madvise(memory + at, MIB, MADV_PAGEOUT);
  }
  return 0;
}
