/* The inherited channel, connected to someone else.
 *
 * H85: The channel isn't connected anew.
 *   call i32()
 *   expect returned 1|106|22, denied connect
 */
#include "shared.h"

#include <sys/un.h>

EXPORT int32_t h85_reconnect_channel(void) {
  struct sockaddr_un address = {AF_UNIX, "\0outrider-h85"};
  return outcome(connect(channel(REQUESTS), (struct sockaddr *)&address, sizeof address));
}
