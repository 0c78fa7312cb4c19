/* No entry symbol: not an extension.
 *
 * H116: The message says that it exports no entry.
 *   run
 *   expect loadFailed
 */
#include "plugin.h"

EXPORT int something_else(void) { return 1; }
