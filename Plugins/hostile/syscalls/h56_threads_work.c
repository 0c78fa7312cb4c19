/* What must go on working beside all that: threads.
 *
 * H56: Trap: threads go on working.
 *   call i32()
 *   expect returned 0, works without walls
 */
#include "hostile.h"

#include <pthread.h>

static void *thread_body(void *number) { return (void *)((uintptr_t)number + 1); }

EXPORT int32_t h56_threads_work(void) {
  pthread_t thread;
  void *result = NULL;
  int code = pthread_create(&thread, NULL, thread_body, (void *)41);
  if (code == 0) code = pthread_join(thread, &result);
  return code ? code : (uintptr_t)result == 42 ? 0 : EIO;
}
