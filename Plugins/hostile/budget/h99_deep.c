/* So many directories, each in the one before, and stays in the last.
 *
 * H99: The janitor removes 10,000 levels, made in chains of a hundred that are moved below each other.
 *   call i32(i32) 10000
 *   expect returned|memoryExceeded|cpuTimeExceeded 0|28|122
 */
#include "hostile.h"

/* For each new directory Landlock looks at all of those above. */
enum { CHAIN = 100 };

EXPORT int32_t h99_deep(int32_t levels) {
  int container = open(in_container("."), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (container < 0) return errno;
  int end = -1;
  while (levels > 0) {
    if (fchdir(container) < 0) return errno;
    const char *name = end < 0 ? "deep" : "chain";
    for (int32_t level = 0; level < CHAIN && levels > 0; level++, levels--) {
      if (mkdir(name, 0700) < 0 || chdir(name) < 0) return errno;
      name = "deep";
    }
    int last = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (last < 0 || (end >= 0 && renameat(container, "chain", end, "deep") < 0)) return errno;
    if (end >= 0) close(end);
    end = last;
  }
  return fchdir(end) < 0 ? errno : 0;
}
