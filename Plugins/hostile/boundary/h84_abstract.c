/* An abstract name, for a partner outside.
 *
 * H84: No abstract name.
 *   call i32()
 *   expect returned 97, denied socket, works without walls
 */
#include "shared.h"

#include <sys/un.h>

EXPORT int32_t h84_abstract(void) {
  struct sockaddr_un address = {AF_UNIX, "\0outrider-h84"};
  return meet(AF_UNIX, &address, offsetof(struct sockaddr_un, sun_path) + 13);
}
