/* Four threads, an arena each, storage of their own.
 *
 * H120: Trap: Threads with arenas and storage of their own.
 *   call i32()
 *   expect returned 0, works without walls
 */
#include "hostile.h"

#include <pthread.h>

static __thread int thread_local_value = 7;

static __thread char thread_local_block[4096];

static void *allocating_thread(void *result) {
  thread_local_value += 1;
  thread_local_block[0] = 1;
  for (size_t size = 16; size < 65536; size *= 2) {
    void *memory = malloc(size);
    if (!memory) return NULL;
    memset(memory, 1, size);
    free(memory);
  }
  return thread_local_value == 8 ? result : NULL;
}

EXPORT int32_t h120_threads(void) {
  pthread_t threads[4];
  for (int index = 0; index < 4; index++) {
    int code = pthread_create(&threads[index], NULL, allocating_thread, threads);
    if (code) return code;
  }
  for (int index = 0; index < 4; index++) {
    void *result = NULL;
    pthread_join(threads[index], &result);
    if (!result) return EIO;
  }
  return thread_local_value == 7 ? 0 : EIO;
}
