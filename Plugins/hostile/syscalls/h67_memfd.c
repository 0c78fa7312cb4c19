/* Code in a memory file.
 *
 * H67: Nor a memory file.
 *   call i32()
 *   expect returned 1, denied memfd_create, works without walls
 */
#include "shared.h"

EXPORT int32_t h67_memfd(void) {
  int file = memfd_create("h67", MFD_CLOEXEC);
  if (file < 0 || write(file, answer_42, sizeof answer_42) < 0) return errno;
  return run_code(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0));
}
