/* Another version of the protocol.
 *
 * H70: Another version, on channel 0.
 *   call void(i32) 0
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H70: Another version, on channel 1.
 *   call void(i32) 1
 *   with --wall 2s
 *   expect protocolViolation
 */
#include "shared.h"

EXPORT void h70_other_version(int32_t which) {
  struct header header = {0x526f, 2, RETURNED, 0, 1};
  send(channel(which), &header, sizeof header, MSG_NOSIGNAL);
  wait_forever();
}
