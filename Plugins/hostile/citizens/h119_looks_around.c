/* Finds out that it is watched, in four ways; and behaves. Bits of what it saw; 0 without walls.
 *
 * H119: Sees that there are walls, and is let.
 *   call i32()
 *   expect returned 0..7
 */
#include "hostile.h"

#include <sys/prctl.h>
#include <sys/utsname.h>

EXPORT int32_t h119_looks_around(void) {
  struct utsname system;
  int32_t seen = 0;
  if (prctl(PR_GET_SECCOMP) > 0) seen |= 1;
  if (getpid() == 1) seen |= 2;
  if (access("/proc/self/status", R_OK) != 0) seen |= 4;
  if (uname(&system) != 0 || system.sysname[0] == 0) seen |= 8;
  return seen;
}
