/* Noise on one of the channels (0: calls, 1: requests).
 *
 * H70: Noise ends the run, on channel 0.
 *   call void(i32) 0
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H70: Noise ends the run, on channel 1.
 *   call void(i32) 1
 *   with --wall 2s
 *   expect protocolViolation
 */
#include "shared.h"

EXPORT void h70_noise(int32_t which) {
  static char noise[4096];
  memset(noise, 0xa5, sizeof noise);
  send(channel(which), noise, sizeof noise, MSG_NOSIGNAL);
  wait_forever();
}
