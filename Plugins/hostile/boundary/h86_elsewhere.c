/* An address of the documentation range, which no packet may ever be sent to.
 *
 * H86: No other machine.
 *   call i32()
 *   expect returned 97, denied socket
 */
#include "hostile.h"

#include <netinet/in.h>

EXPORT int32_t h86_elsewhere(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(80), .sin_addr = {htonl(0xc0000201)}};
  int client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (client < 0) return errno;
  int32_t code = outcome(connect(client, (struct sockaddr *)&address, sizeof address));
  close(client);
  return code == EINPROGRESS ? 0 : code;
}
