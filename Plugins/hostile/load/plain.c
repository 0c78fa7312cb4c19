/* H112, H114: a library with nothing wrong in its code; how it is linked is what matters. */
#include "hostile.h"
EXPORT int32_t ok(void) { return 0; }
