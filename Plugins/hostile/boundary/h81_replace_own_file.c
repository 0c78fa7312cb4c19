/* Puts another file in its place.
 *
 * H81: Nor replaced.
 *   call i32()
 *   expect returned 18|30|13|16|1, works without walls
 */
#include "hostile.h"

EXPORT int32_t h81_replace_own_file(void) {
  if (open_for(O_CREAT | O_WRONLY, in_container("h81")) != 0) return errno;
  int32_t code = outcome(rename(in_container("h81"), own_file()));
  unlink(in_container("h81"));
  return code;
}
