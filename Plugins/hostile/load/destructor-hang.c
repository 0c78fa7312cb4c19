/* H04: a destructor and an exit handler that hang after a good call */
#include "hostile.h"
static void hang(void) { for (;;) pause(); }
__attribute__((constructor)) static void begin(void) { atexit(hang); }
__attribute__((destructor)) static void end(void) { hang(); }
EXPORT int32_t ok(void) { return 0; }
