/* Pins pages by a flag of the mapping.
 *
 * H35: No pages are pinned by a flag.
 *   call i32()
 *   expect returned 1|11, denied mmap, works without walls
 */
#include "shared.h"

EXPORT int32_t h35_map_locked(void) {
  return map(4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1) ? 0 : errno;
}
