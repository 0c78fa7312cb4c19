/* H78: a constructor that crashes. */
#include "../plugin.h"

EXTENSION(three_downloads)

static __attribute__((constructor)) void begin(void) { *(volatile int *)8 = 1; }
