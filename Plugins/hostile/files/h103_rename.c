/* Moves a file out of where it may only be read.
 *
 * H103: Nothing is moved out of the bundle.
 *   call i32()
 *   expect returned 18|30|13|16|1, works without walls
 */
#include "hostile.h"

EXPORT int32_t h103_rename(void) {
  int32_t code = outcome(rename(own_file(), in_container("h103-moved")));
  if (code == 0) rename(in_container("h103-moved"), own_file());
  return code;
}
