/* The times of a device that is the machine's own.
 *
 * H98: The machine's /dev/null keeps its times.
 *   call i32()
 *   expect returned 30, works without walls
 */
#include "hostile.h"

EXPORT int32_t h98_touch_device(void) { return outcome(utimensat(AT_FDCWD, "/dev/null", NULL, 0)); }
