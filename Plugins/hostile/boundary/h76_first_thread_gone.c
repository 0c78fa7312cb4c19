/* Closes every channel from a thread, after the first one has ended: the process looks like one that is ending, and isn't.
 *
 * H76: A first thread that has ended isn't the process's end.
 *   call void()
 *   with --wall 10s
 *   expect protocolViolation
 */
#include "shared.h"

#include <pthread.h>

static void *closing_thread(void *unused) {
  (void)unused;
  h76_close();
  return NULL;
}

EXPORT void h76_first_thread_gone(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, closing_thread, NULL) == 0) syscall(SYS_exit, 0);
}
