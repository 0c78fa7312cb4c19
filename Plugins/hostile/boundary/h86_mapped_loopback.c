/* Talks to the machine over an IPv4-mapped IPv6 address of the loopback.
 *
 * H86: No loopback in other clothes.
 *   call i32()
 *   expect returned 97, denied socket, works without walls
 */
#include "shared.h"

#include <arpa/inet.h>

EXPORT int32_t h86_mapped_loopback(void) {
  struct sockaddr_in6 address = {.sin6_family = AF_INET6};
  inet_pton(AF_INET6, "::ffff:127.0.0.1", &address.sin6_addr);
  return meet(AF_INET6, &address, sizeof address);
}
