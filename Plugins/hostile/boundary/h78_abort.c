/* The ways to crash.
 *
 * H78: The report names the signal, and the function where there is one.
 *   call void()
 *   with --wall 5s
 *   expect crashed
 *
 * H101: No core file appears, in the container or in the host's directory.
 *   call void()
 *   expect crashed
 */
#include "hostile.h"

EXPORT void h78_abort(void) { abort(); }
