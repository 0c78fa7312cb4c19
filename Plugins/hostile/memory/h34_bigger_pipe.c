/* A pipe that holds more than it does by default.
 *
 * H34: Pipes do not grow.
 *   call i32()
 *   expect returned 1, denied fcntl, works without walls
 */
#include "hostile.h"

EXPORT int32_t h34_bigger_pipe(void) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return errno;
  int32_t code = outcome(fcntl(ends[1], F_SETPIPE_SZ, 1 << 20));
  close(ends[0]);
  close(ends[1]);
  return code;
}
