/* A name that is too long, and a path that is.
 *
 * H99: A name of 4,000 bytes is none.
 *   call i32()
 *   expect returned 36
 */
#include "hostile.h"

EXPORT int32_t h99_long_name(void) {
  static char name[4000];
  memset(name, 'n', sizeof name - 1);
  return open_for(O_CREAT | O_WRONLY, in_container(name));
}
