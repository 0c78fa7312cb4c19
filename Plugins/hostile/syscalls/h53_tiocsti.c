/* Types into the terminal that the host was started from. Where none can be opened, standard input is tried.
 *
 * H53: Nothing is typed into a terminal.
 *   call i32()
 *   expect returned 1, denied ioctl, works without walls
 */
#include "shared.h"

EXPORT int32_t h53_tiocsti(void) { return type_into_terminal(TIOCSTI); }
