/* A lease, which delays every process that opens the file; and news about a directory.
 *
 * H98: No news about directories; a kernel may lack it.
 *   call i32()
 *   expect returned 1, denied fcntl
 */
#include "hostile.h"

EXPORT int32_t h98_notify(void) {
  int directory = open(in_container("."), O_RDONLY | O_CLOEXEC);
  return directory < 0 ? errno : outcome(fcntl(directory, F_NOTIFY, 4));
}
