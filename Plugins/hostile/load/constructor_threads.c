/* A constructor that starts threads, as many libraries do. They live behind the same walls: the one that tries for a
 * socket is refused.
 *
 * H118: The threads live; the one that wants a socket is refused.
 *   run
 *   expect returned 3/0, denied socket
 */
#include "plugin.h"

#include <pthread.h>
#include <sys/socket.h>

EXTENSION(three_downloads)

static void *waits(void *unused) {
  wait_forever();
  return unused;
}

static void *connects(void *unused) {
  opened(socket(AF_INET, SOCK_STREAM, 0));
  return unused;
}

static __attribute__((constructor)) void begin(void) {
  pthread_t thread, other;
  pthread_create(&thread, NULL, waits, NULL);
  pthread_create(&other, NULL, connects, NULL);
  pthread_join(other, NULL);
}
