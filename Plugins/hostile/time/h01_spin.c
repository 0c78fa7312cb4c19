/* Never returns, one core busy.
 *
 * H01: Spins; the wall clock ends it within its limit.
 *   call void()
 *   with --wall 300ms
 *   expect wallTimeExceeded
 *
 * H01: Spins; the CPU clock ends it first where that is lower.
 *   call void()
 *   with --cpu 200ms --wall 5s
 *   expect cpuTimeExceeded
 */
#include "shared.h"

EXPORT void h01_spin(void) { spin(); }
