/* Ends the process in mid-call, as if all were well.
 *
 * H77: Exit status 0 in mid-call is no success.
 *   call void()
 *   expect crashed
 */
#include "hostile.h"

EXPORT void h77_quick_exit(void) { quick_exit(0); }
