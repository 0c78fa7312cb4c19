/* Shared memory in pieces, each unmapped but for a page that keeps the rest.
 *
 * H28: Nor does unmapping in pieces help.
 *   call i32()
 *   with --memory 16MiB
 *   expect memoryExceeded|returned 12, denied *, works without walls
 */
#include "shared.h"

EXPORT int32_t h28_shared_pieces(void) {
  for (size_t done = 0; done < MUCH; done += MIB) {
    char *memory = map(MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
    if (!memory) return errno;
    touch(memory, MIB);
    if (munmap(memory + 4096, MIB - 4096) < 0) return errno;
  }
  return 0;
}
