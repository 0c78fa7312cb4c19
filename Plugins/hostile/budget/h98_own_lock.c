/* A lock on a file of its container, as databases take it. Allowed: the container is the plugin's own.
 *
 * H98: Trap: locks in its own container are allowed.
 *   call i32()
 *   expect returned 0, works without walls
 */
#include "hostile.h"

EXPORT int32_t h98_own_lock(void) {
  struct flock lock = {.l_type = F_WRLCK};
  int file = open(in_container("h98"), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  return file < 0 ? errno : outcome(fcntl(file, F_SETLK, &lock));
}
