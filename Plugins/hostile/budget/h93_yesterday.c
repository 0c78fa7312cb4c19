/* Sets the clock back by a day.
 *
 * H93: The clock isn't set; never run without walls.
 *   call i32()
 *   expect returned 1, denied clock_settime
 */
#include "shared.h"

EXPORT int32_t h93_yesterday(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_sec -= 86400;
  return outcome(clock_settime(CLOCK_REALTIME, &time));
}
