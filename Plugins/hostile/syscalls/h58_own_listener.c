/* A listener of its own, to answer its own calls.
 *
 * H58: No second listener.
 *   call i32()
 *   expect returned 1, denied seccomp, works without walls
 */
#include "shared.h"

EXPORT int32_t h58_own_listener(void) { return add_filter(SECCOMP_FILTER_FLAG_NEW_LISTENER, SECCOMP_RET_ALLOW); }
