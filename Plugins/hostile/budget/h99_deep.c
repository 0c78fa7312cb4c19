/* So many directories, each in the one before, and stays in the last.
 *
 * H99: The janitor removes 10,000 levels; Landlock looks at each of those above for every new one, which takes seconds.
 *   call i32(i32) 10000
 *   expect returned|memoryExceeded|cpuTimeExceeded 0|28|122
 */
#include "hostile.h"

EXPORT int32_t h99_deep(int32_t levels) {
  if (chdir(in_container(".")) < 0) return errno;
  for (int32_t level = 0; level < levels; level++)
    if (mkdir("deep", 0700) < 0 || chdir("deep") < 0) return errno;
  return 0;
}
