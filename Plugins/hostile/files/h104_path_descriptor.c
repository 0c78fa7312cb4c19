/* A descriptor that is only a place; then what is there.
 *
 * H104: No way by a place.
 *   call i32()
 *   expect returned 2|13, works without walls
 */
#include "hostile.h"

EXPORT int32_t h104_path_descriptor(void) {
  int directory = open("/etc", O_PATH | O_CLOEXEC);
  if (directory < 0) return errno;
  int32_t code = opened(openat(directory, "shadow", O_RDONLY | O_CLOEXEC));
  close(directory);
  return code;
}
