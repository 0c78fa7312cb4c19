/* Leaks from a thread, after the first one has ended: of that the kernel tells no memory any more.
 *
 * H24: Of a process whose first thread has ended the others are looked at.
 *   call void()
 *   with --memory 16MiB
 *   expect memoryExceeded
 */
#include "shared.h"

#include <pthread.h>

static void *leaking_thread(void *unused) {
  (void)unused;
  h24_leak();
  wait_forever();
  return NULL;
}

EXPORT void h24_without_first_thread(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, leaking_thread, NULL) == 0) syscall(SYS_exit, 0);
}
