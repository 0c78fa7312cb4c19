/* A burst of a few milliseconds, given back at once: a sampler may miss it, the kernel doesn't.
 *
 * H25: A burst is seen with a kernel limit; without one the report says that the sampler may miss it.
 *   call i32()
 *   with --memory 16MiB
 *   expect memoryExceeded|returned 0
 */
#include "shared.h"

EXPORT int32_t h25_burst(void) {
  void *memory = anonymous(MUCH);
  int32_t code = fill(memory, MUCH);
  if (memory) munmap(memory, MUCH);
  return code;
}
