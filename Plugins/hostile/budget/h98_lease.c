/* A lease, which delays every process that opens the file; and news about a directory.
 *
 * H98: No lease.
 *   call i32()
 *   expect returned 1, denied fcntl, works without walls
 */
#include "hostile.h"

static int32_t lock_own_file(int command, long argument) {
  int file = open(own_file(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno;
  int32_t code = outcome(fcntl(file, command, argument));
  close(file);
  return code;
}

EXPORT int32_t h98_lease(void) { return lock_own_file(F_SETLEASE, F_RDLCK); }
