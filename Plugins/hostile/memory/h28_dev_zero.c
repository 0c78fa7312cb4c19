/* Shared memory by mapping a device, where the flags say nothing of it.
 *
 * H28: The device that gives shared memory is not there.
 *   call i32()
 *   with --memory 16MiB
 *   expect returned 2|13, works without walls
 */
#include "shared.h"

EXPORT int32_t h28_dev_zero(void) {
  int file = open("/dev/zero", O_RDWR | O_CLOEXEC);
  return file < 0 ? errno : fill(map(MUCH, PROT_READ | PROT_WRITE, MAP_SHARED, file), MUCH);
}
