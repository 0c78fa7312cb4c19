/* The entry symbol is data.
 *
 * H116: The message says that it is data.
 *   run
 *   expect loadFailed
 */
#include "hostile.h"

EXPORT const int background_assets_extension = 42;
