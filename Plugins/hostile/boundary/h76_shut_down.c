/* Shuts them down and keeps them.
 *
 * H76: Without its channels it is ended at once, not at its deadline.
 *   call void()
 *   with --wall 10s
 *   expect protocolViolation
 */
#include "shared.h"

EXPORT void h76_shut_down(void) {
  for (int which = 0; channel(which) >= 0; which++) shutdown(channel(which), SHUT_RDWR);
  wait_forever();
}
