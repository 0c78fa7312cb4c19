/* Reads what a crash would leave: 0 bytes.
 *
 * H101: Core dumps are off.
 *   call i32()
 *   expect returned 0
 */
#include "hostile.h"

#include <sys/resource.h>

EXPORT int32_t h101_core_is_off(void) {
  struct rlimit limit;
  return getrlimit(RLIMIT_CORE, &limit) < 0 ? errno : limit.rlim_cur == 0 && limit.rlim_max == 0 ? 0 : EPERM;
}
