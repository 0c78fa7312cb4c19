/* A datagram that carries something out; to the loopback's discard port.
 *
 * H85: No datagram; canary: a listener on the machine's loopback hears nothing.
 *   call i32()
 *   expect returned 97, denied socket, works without walls
 */
#include "hostile.h"

#include <netinet/in.h>

EXPORT int32_t h85_datagram(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int client = socket(AF_INET, SOCK_DGRAM, 0);
  if (client < 0) return errno;
  int32_t code = outcome(sendto(client, "secret", 6, 0, (struct sockaddr *)&address, sizeof address));
  close(client);
  return code;
}
