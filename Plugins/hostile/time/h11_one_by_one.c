/* One after the other, each joined before the next: never more than one beside the first. How many were refused.
 *
 * H11: Trap: a thread that has ended is none.
 *   call i32()
 *   expect returned 0
 */
#include "shared.h"

static void *ended_thread(void *unused) { return unused; }

EXPORT int32_t h11_one_by_one(void) {
  int32_t refused = 0;
  pthread_t thread;
  for (int index = 0; index < 500; index++)
    if (pthread_create(&thread, NULL, ended_thread, NULL)) refused++;
    else pthread_join(thread, NULL);
  return refused;
}
