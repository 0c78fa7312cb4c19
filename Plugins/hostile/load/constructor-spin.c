/* H03: a constructor that never returns */
#include "hostile.h"
__attribute__((constructor)) static void begin(void) { for (volatile unsigned n = 0;; n++) {} }
EXPORT int32_t ok(void) { return 0; }
