/* Up from a descriptor of the container.
 *
 * H103: No way up.
 *   call i32()
 *   expect returned 2|13, works without walls
 */
#include "hostile.h"

EXPORT int32_t h103_dot_dot(void) {
  int directory = open(in_container("."), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return errno;
  int32_t code = opened(openat(directory, "../../../../../../../../etc/shadow", O_RDONLY | O_CLOEXEC));
  close(directory);
  return code;
}
