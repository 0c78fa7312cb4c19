/* Overwrites its frame; the compiler's guard ends it.
 *
 * H78: The report names the signal, and the function where there is one.
 *   call i32()
 *   with --wall 5s
 *   expect crashed
 */
#include "hostile.h"

EXPORT int32_t h78_smash(void) {
  char frame[8];
  void *(*volatile fill)(void *, int, size_t) = memset;
  fill(frame, 'A', 64);
  return frame[0];
}
