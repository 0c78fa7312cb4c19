/* So many descriptors with a valid frame, on one of the channels.
 *
 * H72: 1 descriptors on channel 0 are closed; the host has as many as before.
 *   call void(i32,i32) 0 1
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H72: 200 descriptors on channel 0 are closed; the host has as many as before.
 *   call void(i32,i32) 0 200
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H72: 1 descriptors on channel 1 are closed; the host has as many as before.
 *   call void(i32,i32) 1 1
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H72: 200 descriptors on channel 1 are closed; the host has as many as before.
 *   call void(i32,i32) 1 200
 *   with --wall 2s
 *   expect protocolViolation
 */
#include "shared.h"

EXPORT void h72_send_descriptors(int32_t which, int32_t count) {
  send_descriptors(which, count, CMSG_LEN((size_t)count * 4));
  wait_forever();
}
