/* Jumps into a frame that is no more.
 *
 * H60: A jump into a frame that is gone: whatever happens, happens in the child, and the outcome has a type.
 *   call i32()
 *   with --wall 300ms
 *   expect crashed|wallTimeExceeded|returned
 */
#include "hostile.h"

#include <setjmp.h>

static jmp_buf gone;

static __attribute__((noinline)) int remember(void) { return setjmp(gone); }

EXPORT int32_t h60_longjmp(void) {
  if (remember() == 0) longjmp(gone, 1);
  return 0;
}
