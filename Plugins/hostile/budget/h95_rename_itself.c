/* Another name for its process: allowed, and no matter.
 *
 * H95: A name of its own is allowed; budgets go by the host's.
 *   call i32()
 *   expect returned 0, works without walls
 */
#include "hostile.h"

#include <sys/prctl.h>

EXPORT int32_t h95_rename_itself(void) { return outcome(prctl(PR_SET_NAME, "someone-else")); }
