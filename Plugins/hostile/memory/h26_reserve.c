/* Reserves much and uses nothing, as allocators and language runtimes do. Not to be punished.
 *
 * H26: Trap: a reservation of 64 GiB is harmless.
 *   call i32()
 *   with --memory 16MiB
 *   expect returned 0, works without walls
 */
#include "shared.h"

EXPORT int32_t h26_reserve(void) {
  void *memory = map((size_t)64 << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  return memory ? outcome(munmap(memory, (size_t)64 << 30)) : errno;
}
