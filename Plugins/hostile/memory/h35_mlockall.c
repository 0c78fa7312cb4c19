/* Pins everything, now and later.
 *
 * H35: Not everything is pinned.
 *   call i32()
 *   expect returned 1|12, denied mlockall, works without walls
 */
#include "hostile.h"

EXPORT int32_t h35_mlockall(void) { return outcome(mlockall(MCL_CURRENT | MCL_FUTURE)); }
