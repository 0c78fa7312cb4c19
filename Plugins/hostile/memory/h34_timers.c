/* Timers, each of which is the kernel's memory.
 *
 * H34: Timers that are the kernel's memory, and may send any signal, are refused.
 *   call i32()
 *   expect returned 1, denied timer_create, works without walls
 */
#include "hostile.h"

#include <time.h>

EXPORT int32_t h34_timers(void) {
  struct sigevent event = {.sigev_notify = SIGEV_NONE};
  for (int count = 0; count < 2000; count++) {
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0) return errno;
  }
  return 0;
}
