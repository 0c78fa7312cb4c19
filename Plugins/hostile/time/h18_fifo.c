/* A real-time scheduler.
 *
 * H18: No real-time scheduler.
 *   call i32()
 *   expect returned 1, denied sched_setscheduler, works without walls
 */
#include "shared.h"

EXPORT int32_t h18_fifo(void) {
  struct sched_param fifo = {.sched_priority = 1}, other = {.sched_priority = 0};
  int32_t code = outcome(sched_setscheduler(0, SCHED_FIFO, &fifo));
  if (code == 0) sched_setscheduler(0, SCHED_OTHER, &other);
  return code;
}
