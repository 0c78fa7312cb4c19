/* Every number that has no call, and those that are new: answered, each, and the report stays bounded.
 *
 * H57: Every unknown number is answered; the report stays bounded. ENOSYS, or EPERM for the first that libseccomp knows.
 *   call i32()
 *   expect returned 38|1, denied *
 */
#include "hostile.h"

EXPORT int32_t h57_every_unknown_number(void) {
  int32_t code = ENOSYS;
  for (long number = 470; number < 2000 && code == ENOSYS; number++)
    code = outcome(syscall(number, -1, -1, -1, -1, -1, -1));
  return code;
}
