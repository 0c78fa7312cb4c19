/* So many empty files.
 *
 * H99: The janitor removes 20,000 files.
 *   call i32(i32) 20000
 *   expect returned|memoryExceeded 0|28|122
 */
#include "hostile.h"

EXPORT int32_t h99_many(int32_t count) {
  char name[64];
  for (int32_t index = 0; index < count; index++) {
    snprintf(name, sizeof name, "h99-many-%d", index);
    if (open_for(O_CREAT | O_WRONLY, in_container(name)) != 0) return errno;
  }
  return 0;
}
