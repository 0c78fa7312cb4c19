/* Written first, then made executable by the call with a protection key.
 *
 * H67: Nor with a protection key.
 *   call i32()
 *   expect returned 13|1, denied pkey_mprotect, works without walls
 */
#include "shared.h"

EXPORT int32_t h67_pkey_mprotect(void) {
  void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return errno;
  memcpy(memory, answer_42, sizeof answer_42);
  return syscall(SYS_pkey_mprotect, memory, 4096, PROT_READ | PROT_EXEC, -1) < 0 ? errno : run_code(memory);
}
