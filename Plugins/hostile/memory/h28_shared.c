/* Shared memory, which RLIMIT_DATA doesn't count.
 *
 * H28: Shared anonymous memory counts; without a cgroup it is refused with ENOMEM beyond the limit.
 *   call i32()
 *   with --memory 16MiB
 *   expect memoryExceeded|returned 12, denied *, works without walls
 */
#include "shared.h"

EXPORT int32_t h28_shared(void) {
  return fill(map(MUCH, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1), MUCH);
}
