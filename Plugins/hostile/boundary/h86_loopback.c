/* TCP on the machine's own loopback.
 *
 * H86: No loopback.
 *   call i32()
 *   expect returned 97, denied socket, works without walls
 */
#include "shared.h"

#include <netinet/in.h>

EXPORT int32_t h86_loopback(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  return meet(AF_INET, &address, sizeof address);
}
