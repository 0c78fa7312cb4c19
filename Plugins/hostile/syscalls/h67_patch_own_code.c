/* Its own code, made writable: what is loaded can't be changed either.
 *
 * H67: Loaded code isn't made writable.
 *   call i32()
 *   expect returned 13, denied mprotect, works without walls
 */
#include "shared.h"

EXPORT int32_t h67_patch_own_code(void) {
  uintptr_t page = (uintptr_t)run_code & ~(uintptr_t)4095;
  if (mprotect((void *)page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) < 0) return errno;
  return outcome(mprotect((void *)page, 4096, PROT_READ | PROT_EXEC));
}
