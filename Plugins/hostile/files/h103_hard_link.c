/* A second name, in the container, for a file outside of it.
 *
 * H103: No second name for a file of others.
 *   call i32()
 *   expect returned 18|1|13, works without walls
 */
#include "hostile.h"

EXPORT int32_t h103_hard_link(void) {
  int32_t code = outcome(link(own_file(), in_container("h103-hard")));
  unlink(in_container("h103-hard"));
  return code;
}
