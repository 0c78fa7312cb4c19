/* Pins a file's pages: within a memory cgroup that would kill every process that maps the file.
 *
 * H35: No file pages are pinned.
 *   call i32()
 *   expect returned 1|12, denied mlock, works without walls
 */
#include "shared.h"

EXPORT int32_t h35_mlock(void) {
  int file = open(own_file(), O_RDONLY | O_CLOEXEC);
  void *memory = map(4096, PROT_READ, MAP_SHARED, file);
  return memory ? outcome(mlock(memory, 4096)) : errno;
}
