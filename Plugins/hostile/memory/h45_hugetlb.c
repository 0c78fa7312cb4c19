/* Pages of the machine's reserve.
 *
 * H45: No pages of the machine's reserve.
 *   call i32()
 *   expect returned 1, denied mmap, works without walls
 */
#include "shared.h"

EXPORT int32_t h45_hugetlb(void) {
  return map(2 * MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1) ? 0 : errno;
}
