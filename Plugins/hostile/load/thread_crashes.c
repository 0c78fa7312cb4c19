/* A thread crashes while the constructor that waits for it holds the loader's lock.
 *
 * H78: At once, though the loader's lock is held meanwhile.
 *   run
 *   with --wall 5s
 *   expect crashed
 */
#include "plugin.h"

#include <pthread.h>

static void *crash(void *unused) {
  (void)unused;
  *(volatile int *)8 = 1;
  return NULL;
}

__attribute__((constructor)) static void begin(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, crash, NULL) == 0) pthread_join(thread, NULL);
}

EXTENSION(three_downloads)
