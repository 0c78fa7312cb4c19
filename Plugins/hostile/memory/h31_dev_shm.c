/* The machine's shared memory directory.
 *
 * H31: There is no /dev/shm; canary: no h31-canary in it.
 *   call i32()
 *   expect returned 2|13|30, works without walls
 */
#include "hostile.h"

EXPORT int32_t h31_dev_shm(void) {
  int32_t code = opened(open("/dev/shm/h31-canary", O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  if (code == 0) unlink("/dev/shm/h31-canary");
  return code;
}
