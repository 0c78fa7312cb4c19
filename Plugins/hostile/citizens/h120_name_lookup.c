/* Looks a name up. Refused, as published; the library gives up by itself and nothing is recorded.
 *
 * H120: Trap: A name lookup gives up by itself; published probes are not recorded.
 *   call i32()
 *   expect returned 0, works without walls
 */
#include "hostile.h"

#include <netdb.h>

EXPORT int32_t h120_name_lookup(void) {
  struct addrinfo *found = NULL, hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  int code = getaddrinfo("assets.example.com", "https", &hints, &found);
  if (code == 0) freeaddrinfo(found);
  return code == 0 ? ECONNREFUSED : 0;
}
