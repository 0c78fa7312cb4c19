/* Time(2) through the page at a fixed address that old programs call. A kernel may not have it.
 *
 * H69: Time by the fixed page is the time that clock_gettime gives; a kernel without the page faults.
 *   call i32()
 *   expect returned|crashed 0
 */
#include "hostile.h"

EXPORT int32_t h69_vsyscall(void) {
  long (*volatile legacy_time)(long *) = (long (*)(long *))0xffffffffff600400;
  return legacy_time(NULL) > 0 ? 0 : EIO;
}
