/* Waits on a futex that no thread wakes.
 *
 * H02: Waits on a futex for ever.
 *   call void()
 *   with --wall 300ms
 *   expect wallTimeExceeded
 */
#include "hostile.h"

#include <linux/futex.h>

EXPORT void h02_futex(void) {
  static uint32_t word = 1;
  for (;;) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
}
