/* A thread that reads the host's next calls away. This call succeeds; a next one runs into its deadline.
 *
 * H75: This call returns; a next one in the same run ends by the clock.
 *   call i32()
 *   with --wall 1s
 *   expect returned 0
 */
#include "shared.h"

#include <pthread.h>

static void *eating_thread(void *unused) {
  char bytes[4096];
  while (recv(channel(CALLS), bytes, sizeof bytes, 0) > 0) {
  }
  return unused;
}

EXPORT int32_t h75_eats_calls(void) {
  pthread_t thread;
  return pthread_create(&thread, NULL, eating_thread, NULL);
}
