/* What only the runner says, and only once: the walls are closed.
 *
 * H70: What only the runner says, said again.
 *   call void()
 *   with --wall 2s
 *   expect protocolViolation
 */
#include "shared.h"

EXPORT void h70_walls_again(void) { forge(CALLS, WALLS_CLOSED, 0, "\0\0\0\0", 4); }
