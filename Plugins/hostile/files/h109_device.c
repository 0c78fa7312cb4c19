/* A device of its own: the machine's memory. Never opened.
 *
 * H109: No device.
 *   call i32()
 *   expect returned 1, denied mknodat, works without walls
 */
#include "hostile.h"

#include <sys/sysmacros.h>

EXPORT int32_t h109_device(void) {
  int32_t code = outcome(mknod(in_container("h109"), S_IFCHR | 0600, makedev(1, 1)));
  unlink(in_container("h109"));
  return code;
}
