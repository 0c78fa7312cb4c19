/* Crashes in a thread while the call waits.
 *
 * H78: The report names the signal, and the function where there is one.
 *   call void()
 *   with --wall 5s
 *   expect crashed
 */
#include "shared.h"

#include <pthread.h>

static void *crashing_thread(void *unused) {
  h78_segv();
  return unused;
}

EXPORT void h78_thread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, crashing_thread, NULL);
  wait_forever();
}
