/* H78: a constructor that crashes */
#include "hostile.h"
__attribute__((constructor)) static void begin(void) { *(volatile int *)(uintptr_t)0 = 1; }
EXPORT int32_t ok(void) { return 0; }
