/* Mkdir by its i386 number, 39, which natively is the harmless getpid. Canary: `h51-canary` in the container.
 *
 * H51: An i386 call ends the run; canary: no h51-canary in the container.
 *   call i32()
 *   expect policyViolation, works without walls
 */
#include "shared.h"

EXPORT int32_t h51_int80_mkdir(void) {
  char *path = low_page();
  if (path == MAP_FAILED) return errno;
  strcpy(path, in_container("h51-canary"));
  return (int32_t)-call_i386(39, (long)path, 0755);
}
