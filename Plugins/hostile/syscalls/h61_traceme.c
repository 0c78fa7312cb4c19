/* Has itself traced, so that its calls go another way.
 *
 * H61: Not traced.
 *   call i32()
 *   expect returned 1, denied ptrace, works without walls
 */
#include "hostile.h"

#include <sys/ptrace.h>

EXPORT int32_t h61_traceme(void) { return outcome(ptrace(PTRACE_TRACEME, 0, 0, 0)); }
