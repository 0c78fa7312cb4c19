/* A link of its own to what it may not read. The link is allowed, the way through it isn't.
 *
 * H103: No way through a link of its own.
 *   call i32()
 *   expect returned 2|13, works without walls
 *
 * H103: With --observe the report has what the link leads to.
 *   call i32()
 *   with --observe
 *   expect returned 2|13, denied openat
 */
#include "shared.h"

EXPORT int32_t h103_symlink(void) { return follow("/etc/shadow", O_RDONLY, "h103"); }
