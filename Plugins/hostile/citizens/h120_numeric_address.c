/* An address that needs no lookup still works.
 *
 * H120: Trap: A numeric address needs no lookup.
 *   call i32()
 *   expect returned 0, works without walls
 */
#include "hostile.h"

#include <netdb.h>

EXPORT int32_t h120_numeric_address(void) {
  struct addrinfo *found = NULL, hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_family = AF_INET};
  if (getaddrinfo("192.0.2.1", "443", &hints, &found) != 0) return EIO;
  freeaddrinfo(found);
  return 0;
}
