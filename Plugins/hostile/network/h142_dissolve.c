/* Has a connection to what is listed, dissolves it, and connects the same socket elsewhere.
 *
 * H142: A socket that was let through once isn't let through for good.
 *   call i32()
 *   with --network 127.0.0.1:9
 *   expect returned 111, denied connect, works without walls
 */
#include "shared.h"

EXPORT int32_t h142_dissolve(void) {
  union place place = {.any = {.sa_family = AF_UNSPEC}};
  listen_at("127.0.0.1", LISTED);
  listen_at("127.0.0.1", PORT);
  int client = connected_as_listed();
  if (client < 0 || connect(client, &place.any, sizeof place.any) < 0) return -1;
  socklen_t length = place_of("127.0.0.1", PORT, &place);
  return outcome(connect(client, &place.any, length));
}
