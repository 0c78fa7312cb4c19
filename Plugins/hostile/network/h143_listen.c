/* Waits for connections.
 *
 * H143: No socket listens, on whatever port the kernel chooses.
 *   call i32()
 *   with --network 127.0.0.1:9
 *   expect returned 1, denied listen, works without walls
 */
#include "shared.h"

EXPORT int32_t h143_listen(void) {
  int server = tcp();
  return server < 0 ? errno : outcome(listen(server, 8));
}
