/* The stack as code.
 *
 * H67: The stack is no code.
 *   call i32()
 *   expect returned 13, denied mprotect, works without walls
 */
#include "hostile.h"

EXPORT int32_t h67_stack(void) {
  char here;
  void *page = (void *)((uintptr_t)&here & ~(uintptr_t)4095);
  return outcome(mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
}
