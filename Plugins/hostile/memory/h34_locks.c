/* Locks, each of a byte of its own: the kernel's memory too. In several files, for it looks through a file's list.
 *
 * H34: Locks are kernel memory that nothing charges; the host counts them.
 *   call i32()
 *   expect returned 37, denied fcntl, works without walls
 */
#include "hostile.h"

EXPORT int32_t h34_locks(void) {
  char name[32];
  for (int count = 0; count < 100; count++) {
    snprintf(name, sizeof name, "h34-locks-%d", count);
    int file = open(in_container(name), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0) return errno;
    for (off_t at = 2000; at > 0; at -= 2) {
      struct flock lock = {.l_type = F_WRLCK, .l_start = at, .l_len = 1};
      if (fcntl(file, F_SETLK, &lock) < 0) return errno;
    }
  }
  return 0;
}
