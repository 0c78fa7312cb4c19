/* Numbers at the ends of the range. Neither is a call of any architecture.
 *
 * H57: -1 is no call.
 *   call i32(cstring) minus-one
 *   expect returned|policyViolation 38, denied *
 *
 * H57: Just below the x32 bit.
 *   call i32(cstring) below-x32
 *   expect returned|policyViolation 38, denied *
 */
#include "hostile.h"

EXPORT int32_t h57_odd_number(const char *name) {
  return outcome(syscall(strcmp(name, "minus-one") == 0 ? -1L : 0x3fffffffL));
}
