/* H03: a constructor that never returns. */
#include "../plugin.h"

EXTENSION(three_downloads)

static __attribute__((constructor)) void begin(void) {
  for (volatile unsigned turns = 0;; turns++) {
  }
}
