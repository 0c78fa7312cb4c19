/* Denied calls that differ, so that each would be a line of the report.
 *
 * H13: Five thousand different denied calls; the report stays bounded and says how many it dropped.
 *   call i32()
 *   expect returned 97, denied socket
 */
#include "hostile.h"

EXPORT int32_t h13_variety(void) {
  int32_t code = 0;
  for (int kind = 0; kind < 5000; kind++) code = opened(syscall(SYS_socket, 1, kind << 16, kind));
  return code;
}
