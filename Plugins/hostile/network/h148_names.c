/* Asks for thousands of names, as one does who carries data out in them.
 *
 * H148: Each is answered by the host alone, 256 have an address, and the report is bounded.
 *   call i32(i32) 1000
 *   with --network 127.0.0.1:9
 *   expect returned 256, denied lookup
 */
#include <netdb.h>

#include "shared.h"

EXPORT int32_t h148_names(int32_t count) {
  char name[64];
  int32_t found = 0;
  for (int32_t index = 0; index < count; index++) {
    struct addrinfo *places;
    snprintf(name, sizeof name, "%d.secret.example", index);
    if (getaddrinfo(name, "80", NULL, &places) != 0) continue;
    found++;
    freeaddrinfo(places);
  }
  return found;
}
