/* A constructor that closes the channels to the host.
 *
 * H76: At once, not at the deadline.
 *   run
 *   with --wall 10s
 *   expect protocolViolation|crashed
 */
#include "plugin.h"

EXTENSION(three_downloads)

static __attribute__((constructor)) void begin(void) {
  for (int descriptor = 3; descriptor < 64; descriptor++) close(descriptor);
  wait_forever();
}
