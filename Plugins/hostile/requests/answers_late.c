/* Answers from a thread after it has returned: nothing is added.
 *
 * H70: The late answer is refused.
 *   run
 *   with --wall 5s
 *   expect returned 1/0
 */
#include "requests.h"

#include <pthread.h>

static const ba_host *later_host;

static void *later(void *unused) {
  usleep(20000);
  answer_sound(later_host, "late");
  return unused;
}

BEHAVIOUR {
  pthread_t thread;
  later_host = host;
  pthread_create(&thread, NULL, later, NULL);
  return UNUSED, answer_sound(host, "sound");
}
