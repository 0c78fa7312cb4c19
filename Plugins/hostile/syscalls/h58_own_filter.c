/* A filter that would allow everything. Filters only narrow, so letting it is harmless too.
 *
 * H58: A filter of its own would only narrow; refused or harmless.
 *   call i32()
 *   expect returned 0|1, denied *
 */
#include "shared.h"

EXPORT int32_t h58_own_filter(void) { return add_filter(0, SECCOMP_RET_ALLOW); }
