/* H76: a constructor that closes the channels to the host. */
#include "../plugin.h"

EXTENSION(three_downloads)

static __attribute__((constructor)) void begin(void) {
  for (int descriptor = 3; descriptor < 64; descriptor++) close(descriptor);
  wait_forever();
}
