/* Says that it is written in Swift and isn't: there is no main to call.
 *
 * H116: No main.
 *   run
 *   expect loadFailed
 */
#include "plugin.h"

EXTENSION(three_downloads)
EXPORT void background_assets_swift_extension(void) {}
