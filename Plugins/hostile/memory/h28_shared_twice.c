/* Shared memory through a second mapping of the same pages (mremap of size 0), grown as far as it goes.
 *
 * H28: Nor a second mapping of the same pages.
 *   call i32()
 *   with --memory 16MiB
 *   expect memoryExceeded|returned 12, denied *, works without walls
 */
#include "shared.h"

EXPORT int32_t h28_shared_twice(void) {
  for (size_t done = 0; done < MUCH; done += MIB) {
    char *memory = map(MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
    if (!memory) return errno;
    char *other = mremap(memory, 0, 2 * MIB, MREMAP_MAYMOVE);
    if (other == MAP_FAILED || munmap(memory, MIB) < 0) return errno;
    touch(other, MIB);
    madvise(other, MIB, MADV_DONTNEED);
  }
  return 0;
}
