/* Defines functions of the C library: the runner's own calls don't go there.
 *
 * H116: The runner's own calls aren't diverted.
 *   run
 *   expect returned 3/0
 */
#include "plugin.h"

EXTENSION(three_downloads)

EXPORT ssize_t send(int socket, const void *bytes, size_t length, int flags) {
  (void)socket, (void)bytes, (void)length, (void)flags;
  abort();
}
EXPORT ssize_t recv(int socket, void *bytes, size_t length, int flags) {
  (void)socket, (void)bytes, (void)length, (void)flags;
  abort();
}
