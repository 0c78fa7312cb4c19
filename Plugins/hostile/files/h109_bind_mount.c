/* A mount of its own, over what the host put there.
 *
 * H109: No mount.
 *   call i32()
 *   expect returned 1, denied mount, works without walls
 */
#include "hostile.h"

#include <sys/mount.h>

EXPORT int32_t h109_bind_mount(void) {
  int32_t code = outcome(mount("/usr", in_container("."), NULL, MS_BIND, NULL));
  if (code == 0) umount2(in_container("."), MNT_DETACH);
  return code;
}
