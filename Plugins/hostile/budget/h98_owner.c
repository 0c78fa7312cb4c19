/* Has signals of its own choice sent to others.
 *
 * H98: No signals for others.
 *   call i32()
 *   expect returned 1, denied fcntl
 */
#include "hostile.h"

EXPORT int32_t h98_owner(void) { return outcome(fcntl(1, F_SETOWN, getpid())); }
