/* A load that failed, long after it succeeded.
 *
 * H70: A failed load after a good one.
 *   call void()
 *   with --wall 2s
 *   expect protocolViolation
 */
#include "shared.h"

EXPORT void h70_load_failed_now(void) { forge(CALLS, LOAD_FAILED, 1, "\0\0\0\0", 4); }
