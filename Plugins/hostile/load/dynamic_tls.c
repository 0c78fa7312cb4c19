/* Ordinary thread storage, with an initial value, in two threads. Not to be punished.
 *
 * H120: Trap: thread storage.
 *   run
 *   expect returned 3/0, works without walls
 */
#include "plugin.h"

#include <pthread.h>

static __thread int value = 7;

static void *other(void *unused) { return value == 7 ? (value = 9, &value) : unused; }

static ba_status content_request(const ba_host *host, const ba_content_request *request) {
  pthread_t thread;
  void *result = NULL;
  value = 8;
  if (pthread_create(&thread, NULL, other, NULL) != 0) return BA_FAILED;
  pthread_join(thread, &result);
  return result && value == 8 ? three_downloads(host, request) : BA_FAILED;
}

EXTENSION(content_request)
