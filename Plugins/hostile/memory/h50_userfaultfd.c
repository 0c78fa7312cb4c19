/* Pages that another descriptor provides.
 *
 * H50: No pages from elsewhere.
 *   call i32()
 *   expect returned 1|38, denied userfaultfd, works without walls
 */
#include "hostile.h"

EXPORT int32_t h50_userfaultfd(void) { return opened(syscall(SYS_userfaultfd, O_CLOEXEC)); }
