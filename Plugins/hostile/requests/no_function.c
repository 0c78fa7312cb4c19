/* Says on the channel of calls that this entry point is no function, after something that must be on record.
 *
 * H70: An entry point of the table can't be no function.
 *   run
 *   with --wall 2s
 *   expect protocolViolation, denied socket
 */
#include "requests.h"

#include <sys/socket.h>

BEHAVIOUR {
  static const char frame[16] = {0x6f, 0x52, 1, 69, 0, 0, 0, 0, 2};
  (void)host, UNUSED;
  socket(AF_INET, SOCK_STREAM, 0);
  send(3, frame, sizeof frame, MSG_NOSIGNAL);
  wait_forever();
  return BA_OK;
}
