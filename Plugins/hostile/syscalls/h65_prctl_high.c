/* An option with a high half that the kernel ignores.
 *
 * H65: The high half of the option is ignored as the kernel does.
 *   call i32()
 *   expect returned 1, denied prctl, works without walls
 */
#include "hostile.h"

#include <sys/prctl.h>

EXPORT int32_t h65_prctl_high(void) { return outcome(syscall(SYS_prctl, PR_SET_DUMPABLE | 1UL << 32, 1, 0, 0, 0)); }
