/* Stops itself; wall time counts all the same.
 *
 * H21: Stopped time counts as wall time.
 *   call void()
 *   with --wall 300ms
 *   expect wallTimeExceeded
 */
#include "hostile.h"

EXPORT void h21_stop_itself(void) {
  kill(getpid(), SIGSTOP);
  wait_forever();
}
