/* Returns from the handler of a fault, which faults again, without end.
 *
 * H60: A handler that returns into the fault; the clock ends it.
 *   call void()
 *   with --wall 300ms
 *   expect wallTimeExceeded
 */
#include "hostile.h"

static void do_nothing(int number) { (void)number; }

EXPORT void h60_fault_loop(void) {
  signal(SIGSEGV, do_nothing);
  *(volatile int *)8 = 1;
}
