/* The call that resolves paths by rules of the caller's.
 *
 * H104: No way by other rules.
 *   call i32()
 *   with --observe
 *   expect returned 2|13|38, denied openat2, works without walls
 */
#include "hostile.h"

#include <linux/openat2.h>

EXPORT int32_t h104_openat2(void) {
  struct open_how how = {.flags = O_RDONLY | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
  return opened(syscall(SYS_openat2, AT_FDCWD, "/etc/shadow", &how, sizeof how));
}
