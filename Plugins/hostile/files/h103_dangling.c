/* Makes a file through a dangling link. Canary: `h103-canary` in the machine's /var/tmp.
 *
 * H103: Nothing is made through a dangling link; canary: no h103-canary in /var/tmp.
 *   call i32()
 *   expect returned 2|13|30, works without walls
 */
#include "shared.h"

EXPORT int32_t h103_dangling(void) {
  int32_t code = follow("/var/tmp/h103-canary", O_CREAT | O_WRONLY, "h103-dangling");
  unlink("/var/tmp/h103-canary");
  return code;
}
