/* From eight threads at once, many more than there may be, none of which ends. How many there were.
 *
 * H11: Never more than 64 beside the first, no matter which thread makes them.
 *   call i32()
 *   expect returned 56..64, denied clone
 */
#include "shared.h"

static int running;

static void *counted_thread(void *unused) {
  __atomic_add_fetch(&running, 1, __ATOMIC_SEQ_CST);
  return waiting_thread(unused);
}

static void *making_thread(void *unused) {
  pthread_t thread;
  for (int index = 0; index < 50; index++)
    if (pthread_create(&thread, NULL, counted_thread, NULL) == 0) pthread_detach(thread);
  return unused;
}

EXPORT int32_t h11_most_at_once(void) {
  pthread_t makers[8];
  int count = 0;
  pthread_mutex_lock(&gate);
  /* The first ones may have made all that there may be before the last one is. */
  for (int index = 0; index < 8; index++) {
    if (!pthread_create(&makers[count], NULL, making_thread, NULL)) count++;
  }
  for (int index = 0; index < count; index++) pthread_join(makers[index], NULL);
  usleep(100000);
  return __atomic_load_n(&running, __ATOMIC_SEQ_CST);
}
