/* The console's own way to paste.
 *
 * H53: Nothing is pasted on the console.
 *   call i32()
 *   expect returned 1, denied ioctl
 */
#include "hostile.h"

EXPORT int32_t h53_tioclinux(void) {
  char paste = 3;
  return outcome(syscall(SYS_ioctl, 0, 0x541cUL, &paste));
}
