/* Another library, once the call is running. The loader's message has no number; it stands for EACCES.
 *
 * H67: No library is loaded once a call runs.
 *   call i32()
 *   expect returned 13, denied mmap, works without walls
 */
#include "hostile.h"

#include <dlfcn.h>

EXPORT int32_t h67_load_late(void) { return dlopen("libnss_hesiod.so.2", RTLD_NOW) ? 0 : EACCES; }
