/* A process in a user namespace of its own, with the flags where no filter reads them.
 *
 * H56: clone3 does not exist, silently.
 *   call i32()
 *   expect returned 38, works without walls
 */
#include "shared.h"

#include <spawn.h>

EXPORT int32_t h56_clone3_user(void) {
  struct { uint64_t flags, rest[10]; } arguments = {CLONE_NEWUSER, {0, 0, 0, SIGCHLD}};
  return reaped(syscall(SYS_clone3, &arguments, sizeof arguments));
}
