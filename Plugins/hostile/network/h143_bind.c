/* Chooses a port of its own.
 *
 * H143: No socket has an address of the plugin's choice.
 *   call i32()
 *   with --network 127.0.0.1:9
 *   expect returned 1, denied bind, works without walls
 */
#include "shared.h"

EXPORT int32_t h143_bind(void) {
  union place place;
  socklen_t length = place_of("127.0.0.1", PORT, &place);
  int server = tcp();
  return server < 0 ? errno : outcome(bind(server, &place.any, length));
}
