/* Real-time input and output.
 *
 * H18: No real-time I/O.
 *   call i32()
 *   expect returned 1, denied ioprio_set, works without walls
 */
#include "hostile.h"

EXPORT int32_t h18_ioprio(void) { return outcome(syscall(SYS_ioprio_set, 1, 0, 1 << 13)); }
