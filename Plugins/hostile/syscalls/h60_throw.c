/* An exception that goes through the caller's frames: `throw 42`. In C by the runtime's own functions; a library of its own,
 * because it needs the C++ runtime.
 *
 * H60: An exception that isn't caught ends the child.
 *   library build/libthrow.so
 *   call i32()
 *   with --wall 300ms
 *   expect crashed, denied *
 */
#include "hostile.h"

extern void *__cxa_allocate_exception(size_t size);
extern void __cxa_throw(void *thrown, void *type, void (*destroy)(void *));
extern char _ZTIi[]; /* the type of int */

EXPORT int32_t h60_throw(void) {
  int *thrown = __cxa_allocate_exception(sizeof *thrown);
  *thrown = 42;
  __cxa_throw(thrown, _ZTIi, NULL);
  return 0;
}
