/* Asks for names, and never reads an answer.
 *
 * H145: It is hung up on: no memory of the host's holds what it doesn't take.
 *   call i32()
 *   with --network 127.0.0.1:9
 *   expect returned 0, denied lookup
 */
#include "shared.h"

EXPORT int32_t h145_never_reads(void) {
  static const unsigned char question[] = {0, 27, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 'a', 7, 'e', 'x', 'a', 'm', 'p', 'l', 'e', 0, 0, 1, 0, 1};
  int client = connected("127.77.255.253", 53);
  if (client < 0) return errno;
  for (;;)
    if (send(client, question, sizeof question, MSG_NOSIGNAL) < 0) return errno == EPIPE || errno == ECONNRESET ? 0 : errno;
}
