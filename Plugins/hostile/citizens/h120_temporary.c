/* A temporary file, and one without a name.
 *
 * H120: Trap: Temporary files.
 *   call i32()
 *   expect returned 0, works without walls
 */
#include "hostile.h"

#include <limits.h>

EXPORT int32_t h120_temporary(void) {
  char path[PATH_MAX];
  strcpy(path, in_scratch("h120-XXXXXX"));
  int file = mkstemp(path);
  if (file < 0 || write(file, "x", 1) != 1) return errno;
  close(file);
  if (unlink(path) < 0) return errno;
  return opened(open(in_container("."), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
}
