/* Denied calls as fast as they can be made, to keep the monitor from its deadline.
 *
 * H13: A flood of denied calls does not delay the deadline; the report has one line with a count.
 *   call void()
 *   with --wall 500ms
 *   expect wallTimeExceeded, denied ptrace
 */
#include "hostile.h"

EXPORT void h13_flood(void) {
  for (;;) syscall(SYS_ptrace, 0, 0, 0, 0);
}
