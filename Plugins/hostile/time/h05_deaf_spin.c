/* Handles what can be handled, blocks all, then spins: only SIGKILL is left.
 *
 * H05: Blocks and handles all signals and spins.
 *   call void()
 *   with --wall 300ms
 *   expect wallTimeExceeded
 */
#include "shared.h"

EXPORT void h05_deaf_spin(void) {
  struct sigaction action = {.sa_handler = ignore_signal};
  sigset_t all;
  for (int number = 1; number < 65; number++) sigaction(number, &action, NULL);
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  spin();
}
