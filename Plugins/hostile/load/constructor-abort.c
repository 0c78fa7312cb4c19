/* H78: a constructor that crashes */
#include "hostile.h"
#include <signal.h>
__attribute__((constructor)) static void begin(void) { raise(SIGSEGV); abort(); }
EXPORT int32_t ok(void) { return 0; }
