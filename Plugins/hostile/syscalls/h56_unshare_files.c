/* Descriptors of its own, which no longer are those that the host closed.
 *
 * H56: No namespace or table of its own: files.
 *   call i32()
 *   expect returned 1, denied unshare, works without walls
 */
#include "hostile.h"

#include <spawn.h>

EXPORT int32_t h56_unshare_files(void) { return outcome(unshare(CLONE_FILES)); }
