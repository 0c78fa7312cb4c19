/* H03: a resolver that never returns */
#include "hostile.h"
static int32_t plain(void) { return 0; }
static int32_t (*resolve(void))(void) { for (volatile unsigned n = 0; n != 1; n += 2) {} return plain; }
EXPORT int32_t resolved(void) __attribute__((ifunc("resolve")));
EXPORT int32_t (*user)(void) = resolved;
EXPORT int32_t ok(void) { return user(); }
