/* A file that it wrote, mapped as code: twice, once to write and once to run.
 *
 * H67: A file that it wrote isn't mapped as code.
 *   call i32()
 *   expect returned 13, denied mmap, works without walls
 */
#include "shared.h"

EXPORT int32_t h67_dual_mapping(void) {
  int file = big_file("h67", 65536);
  unlink(in_container("h67"));
  void *writable = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file < 0 || writable == MAP_FAILED) return errno;
  memcpy(writable, answer_42, sizeof answer_42);
  return run_code(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0));
}
