/* Types into a terminal by a request with a high half that the kernel ignores and a filter may compare.
 *
 * H53: The high half of the request is ignored as the kernel does.
 *   call i32()
 *   expect returned 1, denied ioctl, works without walls
 */
#include "shared.h"

EXPORT int32_t h53_tiocsti_high(void) { return type_into_terminal(TIOCSTI | 1UL << 32); }
