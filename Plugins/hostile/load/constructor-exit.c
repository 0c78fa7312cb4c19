/* H77: a constructor that ends the process well */
#include "hostile.h"
__attribute__((constructor)) static void begin(void) { _exit(0); }
EXPORT int32_t ok(void) { return 0; }
