/* A user namespace by clone.
 *
 * H56: No user namespace by clone.
 *   call i32()
 *   expect returned 1, denied clone, works without walls
 */
#include "shared.h"

#include <spawn.h>

EXPORT int32_t h56_clone_user(void) { return reaped(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)); }
