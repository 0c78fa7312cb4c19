/* Compares its kernel objects with another's.
 *
 * H61: No kernel objects are compared.
 *   call i32()
 *   expect returned 1, denied kcmp, works without walls
 */
#include "hostile.h"

EXPORT int32_t h61_kcmp(void) { return outcome(syscall(SYS_kcmp, getpid(), getpid(), 1, 0, 0)); }
