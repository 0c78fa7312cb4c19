/* Threads until it fails. Their stacks are reserved, not used: no reason to end the run.
 *
 * H11: Threads end at the limit with EAGAIN; reserved stacks are not used memory.
 *   call i32()
 *   expect returned 11, denied clone, works without walls
 */
#include "shared.h"

EXPORT int32_t h11_thread_bomb(void) {
  static pthread_t threads[1024];
  int count = 0, code = 0;
  pthread_mutex_lock(&gate);
  while (count < 1024 && (code = pthread_create(&threads[count], NULL, waiting_thread, NULL)) == 0) count++;
  pthread_mutex_unlock(&gate);
  for (int index = 0; index < count; index++) pthread_join(threads[index], NULL);
  return code;
}
