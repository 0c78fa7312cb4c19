/* Timers whose expiry is a thread each.
 *
 * H17: Timers that make threads stay within the limit of threads.
 *   call i32()
 *   expect returned 0|11|1, denied *
 */
#include "shared.h"

static void on_timer(union sigval value) { (void)value; }

EXPORT int32_t h17_timer_threads(void) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_timer};
  struct itimerspec every = {{0, 1000000}, {0, 1000000}};
  timer_t timer;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0) return errno;
  int32_t code = outcome(timer_settime(timer, 0, &every, NULL));
  usleep(100000);
  timer_delete(timer);
  return code;
}
