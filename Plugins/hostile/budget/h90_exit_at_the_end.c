/* Uses 200 ms and leaves.
 *
 * H90: The 200 ms before the exit are charged.
 *   call void()
 *   expect crashed
 */
#include "shared.h"

EXPORT void h90_exit_at_the_end(void) {
  burn(0.2);
  _exit(0);
}
