/* Watches what others do with files.
 *
 * H110: No watching.
 *   call i32()
 *   expect returned 1, denied inotify_init1, works without walls
 */
#include "hostile.h"

#include <sys/inotify.h>

EXPORT int32_t h110_inotify(void) { return opened(inotify_init1(IN_CLOEXEC)); }
