/* A pair, which reaches no other process but holds memory.
 *
 * H85: No pair.
 *   call i32()
 *   expect returned 97, denied socketpair, works without walls
 *
 * H120: With a host in its policy, a pair is one within the run.
 *   call i32()
 *   with --network 127.0.0.1:9
 *   expect returned 0
 */
#include "shared.h"

EXPORT int32_t h85_socketpair(void) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0) return errno;
  close(ends[0]);
  close(ends[1]);
  return 0;
}
