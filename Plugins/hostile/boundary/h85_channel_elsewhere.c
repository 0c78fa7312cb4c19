/* The inherited channel, as a way to another address.
 *
 * H85: The channel goes to the host alone.
 *   call i32()
 *   expect returned 106|95|22|1|111
 */
#include "shared.h"

#include <sys/un.h>

EXPORT int32_t h85_channel_elsewhere(void) {
  struct sockaddr_un address = {AF_UNIX, "\0outrider-h85"};
  return outcome(sendto(channel(REQUESTS), "x", 1, MSG_NOSIGNAL, (struct sockaddr *)&address, sizeof address));
}
