/* H116: the entry symbol is data */
#include "hostile.h"
EXPORT int32_t background_assets_extension = 1;
EXPORT int32_t ok(void) { return 0; }
