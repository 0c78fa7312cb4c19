/* The ways to crash.
 *
 * H78: The report names the signal, and the function where there is one.
 *   call void()
 *   with --wall 5s
 *   expect crashed
 */
#include "hostile.h"

EXPORT void h78_segv(void) { *(volatile int *)8 = 1; }
