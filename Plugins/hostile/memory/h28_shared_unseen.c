/* Shared memory of which no more than 1 MiB is ever in the page tables: what was written stays where it is.
 *
 * H28: It counts as well where no page table shows it.
 *   call i32()
 *   with --memory 16MiB
 *   expect memoryExceeded|returned 12, denied *, works without walls
 */
#include "shared.h"

EXPORT int32_t h28_shared_unseen(void) {
  char *memory = map(MUCH, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
  if (!memory) return errno;
  for (size_t at = 0; at < MUCH; at += MIB) {
    touch(memory + at, MIB);
    madvise(memory + at, MIB, MADV_DONTNEED);
  }
  return 0;
}
