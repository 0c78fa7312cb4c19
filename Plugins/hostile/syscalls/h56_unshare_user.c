/* Namespaces without a process.
 *
 * H56: No namespace or table of its own: user.
 *   call i32()
 *   expect returned 1, denied unshare, works without walls
 */
#include "hostile.h"

#include <spawn.h>

EXPORT int32_t h56_unshare_user(void) { return outcome(unshare(CLONE_NEWUSER)); }
