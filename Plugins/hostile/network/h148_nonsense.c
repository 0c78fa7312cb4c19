/* Says nonsense where names are asked for.
 *
 * H148: It is hung up on, again and again, and a name is answered after that.
 *   call i32(i32) 500
 *   with --network 127.0.0.1:9
 *   expect returned 0, denied lookup
 */
#include <netdb.h>

#include "shared.h"

EXPORT int32_t h148_nonsense(int32_t count) {
  uint32_t state = 1;
  for (int32_t index = 0; index < count; index++) {
    unsigned char bytes[300];
    int client = connected("127.77.255.253", 53);
    if (client < 0) return errno;
    for (size_t place = 0; place < sizeof bytes; place++) bytes[place] = (unsigned char)((state = state * 1664525 + 1013904223) >> 24);
    /* A length that is believed, every other time. */
    if (index % 2) bytes[0] = 0, bytes[1] = 40;
    send(client, bytes, sizeof bytes, MSG_NOSIGNAL);
    close(client);
  }
  struct addrinfo *places;
  return getaddrinfo("localhost", "9", NULL, &places);
}
