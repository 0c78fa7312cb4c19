/* One byte in each 2 MiB of what is asked to be huge pages.
 *
 * H45: Huge pages count in full where they are given; where they are off, 32 small pages are used.
 *   call i32()
 *   with --memory 16MiB
 *   expect memoryExceeded|returned 0
 */
#include "shared.h"

EXPORT int32_t h45_sparse_huge(void) {
  char *memory = anonymous(MUCH);
  if (!memory) return errno;
  madvise(memory, MUCH, MADV_HUGEPAGE);
  for (size_t at = 0; at < MUCH; at += 2 * MIB) *(volatile char *)(memory + at) = 1;
  return 0;
}
