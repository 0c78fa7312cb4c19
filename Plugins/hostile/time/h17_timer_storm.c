/* A signal every 100 microseconds; denied calls must still be answered, not restarted for ever.
 *
 * H17: Denied calls are answered under a storm of signals.
 *   call i32()
 *   expect returned 0, denied kcmp, works without walls
 */
#include "shared.h"

EXPORT int32_t h17_timer_storm(void) { return storm(100); }
