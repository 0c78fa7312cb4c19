/* Out of the container by name.
 *
 * H94: Above the container nothing is made; canary: no h94-canary beside it.
 *   call i32()
 *   expect returned 30|13|2, works without walls
 */
#include "hostile.h"

EXPORT int32_t h94_above_container(void) {
  int32_t code = opened(open(in_container("../h94-canary"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (code == 0) unlink(in_container("../h94-canary"));
  return code;
}
