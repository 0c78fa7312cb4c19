/* Kills itself. As process 1 it can't: then it waits for its deadline.
 *
 * H77: As process 1 it can't kill itself.
 *   call void()
 *   with --wall 300ms
 *   expect wallTimeExceeded|crashed
 */
#include "hostile.h"

EXPORT void h77_kill_itself(void) {
  kill(getpid(), SIGKILL);
  wait_forever();
}
