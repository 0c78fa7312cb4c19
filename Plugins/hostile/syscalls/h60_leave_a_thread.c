/* Ends the thread that was called while another keeps the process alive: no thread is left to answer.
 *
 * H60: The called thread ends, another goes on: no answer comes; never success.
 *   call void()
 *   with --wall 1s
 *   expect crashed|protocolViolation|wallTimeExceeded
 */
#include "hostile.h"

#include <pthread.h>

static void *waiting_thread(void *unused) {
  wait_forever();
  return unused;
}

EXPORT void h60_leave_a_thread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, waiting_thread, NULL);
  syscall(SYS_exit, 0);
}
