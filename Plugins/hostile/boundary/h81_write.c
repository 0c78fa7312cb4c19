/* Opens a path for writing.
 *
 * H81: The runner's own program isn't written; its hash is the same afterwards.
 *   call i32(cstring) /proc/self/exe
 *   with --observe
 *   expect returned 2|13|30|26, denied openat
 */
#include "hostile.h"

EXPORT int32_t h81_write(const char *path) { return open_for(O_WRONLY, path); }
