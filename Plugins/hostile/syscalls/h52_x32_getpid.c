/* Getpid by its x32 number.
 *
 * H52: An x32 call ends the run, or there is none.
 *   call i32()
 *   expect policyViolation|returned 38, denied *
 */
#include "hostile.h"

EXPORT int32_t h52_x32_getpid(void) { return outcome(syscall(SYS_getpid | 0x40000000)); }
