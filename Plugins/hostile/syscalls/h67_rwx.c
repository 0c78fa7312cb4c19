/* Memory that may be written and run.
 *
 * H67: No memory that is written and run.
 *   call i32()
 *   expect returned 13, denied mmap, works without walls
 */
#include "shared.h"

EXPORT int32_t h67_rwx(void) {
  void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) memcpy(memory, answer_42, sizeof answer_42);
  return run_code(memory);
}
