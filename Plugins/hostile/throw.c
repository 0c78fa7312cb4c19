/* H60: an exception that goes through the caller's frames. In C by the runtime's own functions; a library of its own,
   because it needs the C++ runtime. */
#include "hostile.h"

extern void *__cxa_allocate_exception(size_t size);
extern void __cxa_throw(void *thrown, void *type, void (*destroy)(void *));
extern char _ZTIi[]; /* the type of int */

/* H60: `throw 42`. */
EXPORT int32_t h60_throw(void) {
  int *thrown = __cxa_allocate_exception(sizeof *thrown);
  *thrown = 42;
  __cxa_throw(thrown, _ZTIi, NULL);
  return 0;
}
