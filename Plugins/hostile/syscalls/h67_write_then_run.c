/* Written first, then made executable.
 *
 * H67: What was written doesn't become code.
 *   call i32()
 *   expect returned 13, denied mprotect, works without walls
 */
#include "shared.h"

EXPORT int32_t h67_write_then_run(void) {
  void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return errno;
  memcpy(memory, answer_42, sizeof answer_42);
  return mprotect(memory, 4096, PROT_READ | PROT_EXEC) < 0 ? errno : run_code(memory);
}
