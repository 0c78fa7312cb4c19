/* Bytes instead of pages: a mapping of one byte has 4,096.
 *
 * H28: A byte costs a page.
 *   call i32()
 *   with --memory 16MiB
 *   expect memoryExceeded|returned 12, denied *, works without walls
 */
#include "shared.h"

EXPORT int32_t h28_shared_bytes(void) {
  for (size_t done = 0; done < MUCH; done += 4096) {
    char *memory = map(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
    if (!memory) return errno;
    memory[4095] = 1;
    madvise(memory, 4096, MADV_DONTNEED);
  }
  return 0;
}
