/* Ends the process in mid-call from a thread of its own.
 *
 * H77: Exit status 0 in mid-call is no success.
 *   call void()
 *   expect crashed
 */
#include "hostile.h"

#include <pthread.h>

static void *exiting_thread(void *unused) {
  _exit(0);
  return unused;
}

EXPORT void h77_exit_in_thread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, exiting_thread, NULL);
  wait_forever();
}
