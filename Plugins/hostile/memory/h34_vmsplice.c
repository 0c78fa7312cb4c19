/* Pages lent to a pipe, and memory in flight.
 *
 * H34: No pages are lent to a pipe.
 *   call i32()
 *   expect returned 1, denied vmsplice, works without walls
 */
#include "hostile.h"

EXPORT int32_t h34_vmsplice(void) {
  static char page[4096];
  struct { void *base; size_t length; } vector = {page, sizeof page};
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return errno;
  return outcome(syscall(SYS_vmsplice, ends[1], &vector, 1, 0));
}
