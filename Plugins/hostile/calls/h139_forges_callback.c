/* Calls a function of the host's, where it was given none: 0 in an honest frame, 1 without the id of a question, 2
 * with noise, 3 with a thousand values fewer than it says.
 *
 * H139: Who was given no callback calls none.
 *   call void(i32) 0
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H139: A question has an id.
 *   call void(i32) 1
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H139: Noise is no question.
 *   call void(i32) 2
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H139: A count that lies is refused.
 *   call void(i32) 3
 *   with --wall 2s
 *   expect protocolViolation
 */
#include "shared.h"

EXPORT void h139_forges_callback(int32_t which) {
  unsigned char frame[16 + 5 + 9] = {0x6f, 0x52, 1, 137, 14, 0, 0, 0, 99, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 7};
  if (which == 1) frame[8] = 0;
  if (which == 2) memset(frame + 17, 0xa5, sizeof frame - 17);
  if (which == 3) frame[18] = 4;
  send(4, frame, sizeof frame, MSG_NOSIGNAL);
  wait_forever();
}
