/* Closes every channel and goes on.
 *
 * H76: Without its channels it is ended at once, not at its deadline.
 *   call void()
 *   with --wall 10s
 *   expect protocolViolation
 */
#include "shared.h"

EXPORT void h76_close(void) {
  for (int descriptor; (descriptor = channel(CALLS)) >= 0;) close(descriptor);
  wait_forever();
}
