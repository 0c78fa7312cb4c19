/* Eight threads answer at once: allowed, and each download arrives.
 *
 * H15: Each of eight threads' answers arrives.
 *   run
 *   with --wall 5s
 *   expect returned 1600/0
 */
#include "requests.h"

#include <pthread.h>

static const ba_host *later_host;

static void *answers_in_parallel(void *number) {
  char name[32];
  for (int index = 0; index < 200; index++) {
    snprintf(name, sizeof name, "t%d-%d", (int)(uintptr_t)number, index);
    answer_sound(later_host, name);
  }
  return NULL;
}

BEHAVIOUR {
  pthread_t threads[8];
  later_host = host;
  for (uintptr_t index = 0; index < 8; index++) pthread_create(&threads[index], NULL, answers_in_parallel, (void *)index);
  for (int index = 0; index < 8; index++) pthread_join(threads[index], NULL);
  return UNUSED, BA_OK;
}
