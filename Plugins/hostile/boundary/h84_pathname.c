/* A name in the container, which an outside partner sees.
 *
 * H84: No name in the container.
 *   call i32()
 *   expect returned 97, denied socket, works without walls
 */
#include "shared.h"

#include <sys/un.h>

EXPORT int32_t h84_pathname(void) {
  struct sockaddr_un address = {AF_UNIX, ""};
  const char *path = in_container("h84");
  if (strlen(path) >= sizeof address.sun_path) return ENAMETOOLONG;
  strcpy(address.sun_path, path);
  int32_t code = meet(AF_UNIX, &address, sizeof address);
  unlink(path);
  return code;
}
