/* Makes code of it.
 *
 * H136: Nothing that it can write becomes code.
 *   call i32(i32,out(8192)) 0
 *   expect returned 13, denied mprotect
 */
#include "shared.h"

EXPORT int32_t h136_executes(int32_t unused, void *out) {
  (void)unused;
  return outcome(mprotect(words(out), WORDS, PROT_READ | PROT_EXEC));
}
