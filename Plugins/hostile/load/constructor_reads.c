/* A constructor that opens /etc/shadow and a socket. Answers 3 downloads if both were refused, else none.
 *
 * H102: Walls are closed before constructors run.
 *   run
 *   expect returned 3/0, denied socket
 */
#include "plugin.h"

#include <sys/socket.h>

static int file_code, socket_code;

static __attribute__((constructor)) void begin(void) {
  file_code = opened(open("/etc/shadow", O_RDONLY | O_CLOEXEC));
  socket_code = opened(socket(AF_INET, SOCK_STREAM, 0));
}

static ba_status content_request(const ba_host *host, const ba_content_request *request) {
  return file_code && socket_code ? three_downloads(host, request) : BA_FAILED;
}

EXTENSION(content_request)
