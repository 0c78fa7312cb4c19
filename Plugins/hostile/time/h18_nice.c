/* The highest priority.
 *
 * H18: No higher priority.
 *   call i32()
 *   expect returned 1, denied setpriority, works without walls
 */
#include "hostile.h"

#include <sys/resource.h>

EXPORT int32_t h18_nice(void) { return outcome(setpriority(PRIO_PROCESS, 0, -20)); }
