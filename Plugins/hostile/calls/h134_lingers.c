/* Takes just so long that the host waits without sleeping.
 *
 * H134: Not punished: the host waits no longer than it is ready to.
 *   call i32(i32) 90
 *   expect returned 90
 */
#include "hostile.h"

#include <time.h>

EXPORT int32_t h134_lingers(int32_t microseconds) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < microseconds);
  return microseconds;
}
