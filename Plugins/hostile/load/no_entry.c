/* H116: no entry symbol: not an extension. */
#include "../plugin.h"

EXPORT int something_else(void) { return 1; }
