/* H116: a library without the entry symbol */
#include "hostile.h"
EXPORT int32_t ok(void) { return 0; }
