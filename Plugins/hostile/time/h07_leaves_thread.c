/* Returns, and leaves a thread that spins
 *
 * H07: The thread that it leaves is frozen with the runner, and gone with it.
 *   call i32()
 *   expect returned 0
 */
#include "shared.h"

EXPORT int32_t h07_leaves_thread(void) {
  pthread_t thread;
  return pthread_create(&thread, NULL, spinning_thread, NULL);
}
