/* Returns with connections open, and with one that it is still sending on.
 *
 * H146: What is left open ends with the run, and keeps it from nothing.
 *   call i32(i32) 32
 *   with --network 127.0.0.1:9
 *   expect returned 0
 */
#include "shared.h"

EXPORT int32_t h146_leave_open(int32_t count) {
  int client = -1;
  for (int32_t index = 0; index < count; index++)
    if ((client = connected_as_listed()) < 0) return errno;
  /* Nothing has to listen there to take it. */
  send(client, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  return 0;
}
