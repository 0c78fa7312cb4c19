/* Eight threads burn CPU at once: the sum reaches the limit long before the wall clock does.
 *
 * H07: The sum of eight threads counts; the wall clock is not reached.
 *   call void()
 *   with --cpu 500ms --wall 20s
 *   expect cpuTimeExceeded
 */
#include "shared.h"

EXPORT void h07_eight_threads(void) {
  pthread_t thread;
  for (int index = 0; index < 7; index++) pthread_create(&thread, NULL, spinning_thread, NULL);
  spin();
}
