/* Chooses its processors.
 *
 * H18: No choice of processors.
 *   call i32()
 *   expect returned 1, denied sched_setaffinity, works without walls
 */
#include "shared.h"

EXPORT int32_t h18_affinity(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  return outcome(sched_setaffinity(0, sizeof set, &set));
}
