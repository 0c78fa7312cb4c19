/* H116: the entry symbol is data. */
#include "hostile.h"

EXPORT const int background_assets_extension = 42;
