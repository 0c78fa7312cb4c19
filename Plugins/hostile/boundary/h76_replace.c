/* Puts something else in their place.
 *
 * H76: Without its channels it is ended at once, not at its deadline.
 *   call void()
 *   with --wall 10s
 *   expect protocolViolation
 */
#include "shared.h"

EXPORT void h76_replace(void) {
  int file = open("/dev/null", O_RDWR);
  for (int descriptor; (descriptor = channel(CALLS)) >= 0;) dup2(file, descriptor);
  wait_forever();
}
