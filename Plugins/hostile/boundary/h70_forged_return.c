/* An answer to a call that is none: a late or an early one. Its value is void, without buffers or downloads.
 *
 * H70: An answer to a call that isn't open is never taken.
 *   call void(u64) 999
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H70: Nor one with the id of no call at all.
 *   call void(u64) 0
 *   with --wall 2s
 *   expect protocolViolation
 */
#include "shared.h"

EXPORT void h70_forged_return(uint64_t id) { forge(CALLS, RETURNED, id, "\0\0\0\0\0\0\0\0\0\0\0\0\0", 13); }
