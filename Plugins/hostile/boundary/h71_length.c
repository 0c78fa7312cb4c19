/* A length that no process has room for, in the header.
 *
 * H71: Nothing of a claimed size is allocated; the host's memory doesn't grow.
 *   call void(u32) 4294967295
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H71: Nothing of a claimed size is allocated; the host's memory doesn't grow.
 *   call void(u32) 2147483648
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H71: Nothing of a claimed size is allocated; the host's memory doesn't grow.
 *   call void(u32) 1073741824
 *   with --wall 2s
 *   expect protocolViolation
 */
#include "shared.h"

EXPORT void h71_length(uint32_t length) {
  send_frame(CALLS, RETURNED, 1, length, "", 0);
  wait_forever();
}
