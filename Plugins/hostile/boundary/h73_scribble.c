/* Goes on writing what it returned. The host has its own copy, or none.
 *
 * H73: What the host has doesn't change any more.
 *   call i32(out(64))
 *   expect returned 0
 */
#include "hostile.h"

#include <pthread.h>

static void *scribbling_thread(void *buffer) {
  for (unsigned turns = 0;; turns++) memset(buffer, (int)turns, 64);
  return buffer;
}

EXPORT int32_t h73_scribble(unsigned char *out) {
  pthread_t thread;
  return pthread_create(&thread, NULL, scribbling_thread, out);
}
