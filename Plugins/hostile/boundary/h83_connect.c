/* A service's socket, by its path.
 *
 * H83: No service's socket is reached.
 *   call i32(cstring) /run/docker.sock
 *   expect returned 97, denied socket
 *
 * H83: No service's socket is reached.
 *   call i32(cstring) /run/dbus/system_bus_socket
 *   expect returned 97, denied socket
 *
 * H83: No service's socket is reached.
 *   call i32(cstring) /run/systemd/private
 *   expect returned 97, denied socket
 *
 * H83: No service's socket is reached.
 *   call i32(cstring) /run/systemd/journal/socket
 *   expect returned 97, denied socket
 */
#include "shared.h"

#include <sys/un.h>

EXPORT int32_t h83_connect(const char *path) {
  struct sockaddr_un address = {AF_UNIX, ""};
  int client = socket(AF_UNIX, SOCK_STREAM, 0);
  if (client < 0) return errno;
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  int32_t code = outcome(connect(client, (struct sockaddr *)&address, sizeof address));
  close(client);
  return code;
}
