/* Denied calls as fast as four threads can make them, until the clock ends it.
 *
 * H13: The same from four threads.
 *   call void()
 *   with --wall 500ms
 *   expect wallTimeExceeded|cpuTimeExceeded, denied ptrace
 */
#include "shared.h"

static void *flooding_thread(void *unused) {
  h13_flood();
  return unused;
}

EXPORT void h13_flood_threads(void) {
  pthread_t thread;
  for (int index = 0; index < 3; index++) pthread_create(&thread, NULL, flooding_thread, NULL);
  h13_flood();
}
