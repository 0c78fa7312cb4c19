/* Reserves, then uses.
 *
 * H27: A reservation that is used counts.
 *   call i32()
 *   with --memory 16MiB
 *   expect memoryExceeded
 */
#include "shared.h"

EXPORT int32_t h27_reserve_and_touch(void) {
  void *memory = map(MUCH, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (!memory || mprotect(memory, MUCH, PROT_READ | PROT_WRITE) < 0) return errno;
  return fill(memory, MUCH);
}
