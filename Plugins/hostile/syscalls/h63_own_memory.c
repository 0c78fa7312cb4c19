/* Its own memory as a file, which ignores page protection.
 *
 * H63: Its own memory is no file.
 *   call i32()
 *   with --observe
 *   expect returned 2|13, denied openat, works without walls
 */
#include "hostile.h"

EXPORT int32_t h63_own_memory(void) { return open_for(O_RDWR, "/proc/self/mem"); }
