/* Activities without end after the call has returned: the call's clocks go on.
 *
 * H15: What goes on between calls goes on by the clocks of the last one.
 *   call i32()
 *   with --wall 500ms
 *   expect returned 0
 */
#include "shared.h"

#include <pthread.h>

static void *active_thread(void *unused) {
  /* The end of one and the beginning of the next at once: no moment in between in which the runner could be frozen. */
  static const struct header both[] = {{0x526f, 1, END_ACTIVITY, 0, 0}, {0x526f, 1, BEGIN_ACTIVITY, 0, 0}};
  for (;;) {
    usleep(20000);
    send(channel(REQUESTS), both, sizeof both, MSG_NOSIGNAL);
  }
  return unused;
}

EXPORT int32_t h15_leaves_activities(void) {
  pthread_t thread;
  send_frame(REQUESTS, BEGIN_ACTIVITY, 0, 0, "", 0);
  return pthread_create(&thread, NULL, active_thread, NULL);
}
