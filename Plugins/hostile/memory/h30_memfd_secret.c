/* Memory that even the kernel can't see into.
 *
 * H30: No secret memory; libseccomp may not know the name.
 *   call i32()
 *   expect returned 1|38, denied *, works without walls
 */
#include "hostile.h"

EXPORT int32_t h30_memfd_secret(void) { return opened(syscall(SYS_memfd_secret, 0)); }
