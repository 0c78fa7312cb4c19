/* Namespaces without a process.
 *
 * H56: No namespace or table of its own: net.
 *   call i32()
 *   expect returned 1, denied unshare, works without walls
 */
#include "hostile.h"

#include <spawn.h>

EXPORT int32_t h56_unshare_net(void) { return outcome(unshare(CLONE_NEWNET)); }
