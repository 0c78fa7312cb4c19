/* Signals whatever it can. Signal 0 does nothing but say whether there is anyone.
 *
 * H61: There is no other process to signal.
 *   call i32()
 *   expect returned 3|1, works without walls
 */
#include "hostile.h"

EXPORT int32_t h61_signal_everyone(void) { return outcome(kill(-1, 0)); }
