/* A lock that others see, on a file that others load.
 *
 * H98: No lock that others see.
 *   call i32()
 *   expect returned 1, denied flock, works without walls
 */
#include "hostile.h"

#include <sys/file.h>

EXPORT int32_t h98_flock(void) {
  int file = open(own_file(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno;
  int32_t code = outcome(flock(file, LOCK_EX | LOCK_NB));
  close(file);
  return code;
}
