/* Wants an executable stack (linked with -z execstack).
 *
 * H114: No executable stack.
 *   run
 *   expect loadFailed, denied mprotect, works without walls
 */
#include "plugin.h"

EXTENSION(three_downloads)
