/* TCP without connect(2), which a filter or Landlock may look at alone. Nothing listens: that refusal is an answer from
 * outside all the same.
 *
 * H85: No TCP without connect.
 *   call i32()
 *   expect returned 97, denied socket, works without walls
 */
#include "hostile.h"

#include <netinet/in.h>

EXPORT int32_t h85_fast_open(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int client = socket(AF_INET, SOCK_STREAM, 0);
  if (client < 0) return errno;
  int32_t code = outcome(sendto(client, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, (struct sockaddr *)&address, sizeof address));
  close(client);
  return code == ECONNREFUSED || code == EINPROGRESS ? 0 : code;
}
