/* Says that it runs on the processor from which its host asks, and that it has sent something before it answers.
 *
 * H133: Its host sleeps for answers, or looks for what isn't there, and calls it as any other.
 *   call i32(i32,out(8192)) 0
 *   expect returned 0
 */
#include "shared.h"

#include <pthread.h>

static void *saying_thread(void *out) {
  volatile struct words *shared = words(out);
  for (;;) {
    shared->answer.processor = shared->question.host_processor;
    shared->answer.has_sent = 1;
  }
  return out;
}

EXPORT int32_t h133_says_here(int32_t unused, void *out) {
  pthread_t thread;
  (void)unused;
  return pthread_create(&thread, NULL, saying_thread, out);
}
