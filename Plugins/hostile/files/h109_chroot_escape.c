/* Out of a chroot by a second one.
 *
 * H109: No chroot, so none to escape from.
 *   call i32()
 *   expect returned 1, denied chroot, works without walls
 */
#include "hostile.h"

EXPORT int32_t h109_chroot_escape(void) {
  mkdir(in_container("h109-root"), 0700);
  if (chroot(in_container("h109-root")) < 0) return errno;
  for (int index = 0; index < 32; index++)
    if (chdir("..") < 0) return errno;
  return outcome(chroot("."));
}
