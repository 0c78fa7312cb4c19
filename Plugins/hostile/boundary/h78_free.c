/* Frees what it never had: the allocator's own check ends it.
 *
 * H78: The report names the signal, and the function where there is one.
 *   call void()
 *   with --wall 5s
 *   expect crashed
 */
#include "hostile.h"

EXPORT void h78_free(void) {
  void (*volatile release)(void *) = free;
  char here[64];
  release(here + 16);
}
