/* A socket through socketcall(2): i386 number 102, natively the harmless getuid.
 *
 * H51: An i386 socketcall ends the run.
 *   call i32()
 *   expect policyViolation, works without walls
 */
#include "shared.h"

EXPORT int32_t h51_int80_socketcall(void) {
  int *arguments = low_page();
  if (arguments == MAP_FAILED) return errno;
  arguments[0] = 1, arguments[1] = 1, arguments[2] = 0;
  long descriptor = call_i386(102, 1, (long)arguments);
  if (descriptor < 0) return (int32_t)-descriptor;
  return outcome(close((int)descriptor));
}
