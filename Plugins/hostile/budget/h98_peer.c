/* A handle of the process at the other end (SO_PEERPIDFD, Linux 6.5): where a socket can be made, of one of those.
 *
 * H98: No handle of who is at the other end of its channel (SO_PEERPIDFD).
 *   call i32()
 *   expect returned 92, denied getsockopt, works without walls
 */
#include "hostile.h"

#include <sys/socket.h>

EXPORT int32_t h98_peer(void) {
  int ends[2] = {3, 3}, handle = -1;
  socklen_t size = sizeof handle;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) ends[0] = 3;
  return outcome(getsockopt(ends[0], SOL_SOCKET, 77, &handle, &size));
}
