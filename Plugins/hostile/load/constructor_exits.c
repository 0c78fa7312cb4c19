/* H77: a constructor that ends the process. */
#include "../plugin.h"

EXTENSION(three_downloads)

static __attribute__((constructor)) void begin(void) { _exit(0); }
