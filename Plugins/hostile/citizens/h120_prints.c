/* Prints without a line end, and doesn't flush.
 *
 * H120: What it printed is in the report.
 *   call i32()
 *   with --wall 5s
 *   expect returned 0, works without walls
 */
#include "hostile.h"

EXPORT int32_t h120_prints(void) {
  printf("half a line");
  return 0;
}
