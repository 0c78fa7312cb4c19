/* H03: a constructor that waits for ever, without using CPU time. */
#include "../plugin.h"

EXTENSION(three_downloads)

static __attribute__((constructor)) void begin(void) { wait_forever(); }
