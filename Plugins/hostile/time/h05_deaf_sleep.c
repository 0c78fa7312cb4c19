/* Ignores every signal and sleeps.
 *
 * H05: Ignores all signals and sleeps.
 *   call void()
 *   with --wall 300ms
 *   expect wallTimeExceeded
 */
#include "hostile.h"

EXPORT void h05_deaf_sleep(void) {
  for (int number = 1; number < 65; number++) signal(number, SIG_IGN);
  wait_forever();
}
