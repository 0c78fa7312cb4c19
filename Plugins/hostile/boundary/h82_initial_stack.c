/* A secret of the environment where the kernel put it at the start of the process: between the random bytes and the program's name at the
 * stack's end. Clearing the environment doesn't clear that.
 *
 * H82: Nor in the strings that the kernel put on the first stack.
 *   call i32()
 *   expect returned 2|14, works without walls
 */
#include "shared.h"

#include <sys/auxv.h>

EXPORT int32_t h82_initial_stack(void) {
  uintptr_t from = getauxval(AT_RANDOM), to = getauxval(AT_EXECFN);
  if (!from || from >= to) return EFAULT;
  return memmem((const void *)from, to - from, secret_name, sizeof secret_name - 1) ? 0 : ENOENT;
}
