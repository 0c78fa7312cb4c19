/* Descriptors until none is left.
 *
 * H34: Descriptors end at the limit (without walls at another one).
 *   call i32()
 *   expect returned 24
 */
#include "hostile.h"

EXPORT int32_t h34_descriptors(void) {
  int32_t code = 0;
  int opened_here[2048], count = 0;
  for (; count < 2048 && code == 0; count++) code = outcome(opened_here[count] = dup(1));
  while (count > 0) close(opened_here[--count]);
  return code;
}
