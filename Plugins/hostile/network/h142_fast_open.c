/* Connects to what isn't listed by sending, without connect(2).
 *
 * H142: Data with the first packet gets nowhere either.
 *   call i32()
 *   with --network 127.0.0.1:9
 *   expect returned 111, denied connect, works without walls
 */
#include "shared.h"

EXPORT int32_t h142_fast_open(void) {
  union place place;
  socklen_t length = place_of("127.0.0.1", PORT, &place);
  listen_at("127.0.0.1", PORT);
  int client = tcp();
  if (client < 0) return errno;
  return outcome(sendto(client, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, &place.any, length));
}
