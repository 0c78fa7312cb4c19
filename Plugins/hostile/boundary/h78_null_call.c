/* Jumps to nowhere: no symbol to name.
 *
 * H78: The report names the signal, and the function where there is one.
 *   call void()
 *   with --wall 5s
 *   expect crashed
 */
#include "hostile.h"

EXPORT void h78_null_call(void) {
  void (*volatile nowhere)(void) = NULL;
  nowhere();
}
