/* H116: says that it is written in Swift and isn't: there is no main to call. */
#include "../plugin.h"

EXTENSION(three_downloads)
EXPORT void background_assets_swift_extension(void) {}
