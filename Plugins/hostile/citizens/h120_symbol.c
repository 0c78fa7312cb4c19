/* Asks the loader for a function of a library that is there already.
 *
 * H120: Trap: Functions of libraries that are loaded.
 *   call i32()
 *   expect returned 0, works without walls
 */
#include "hostile.h"

#include <dlfcn.h>

EXPORT int32_t h120_symbol(void) {
  void *self = dlopen(NULL, RTLD_NOW);
  return self && dlsym(self, "malloc") ? 0 : ENOENT;
}
