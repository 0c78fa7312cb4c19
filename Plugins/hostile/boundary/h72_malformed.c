/* Ancillary data that contradicts itself. The kernel refuses it.
 *
 * H72: The kernel refuses it; the channel works on.
 *   call i32()
 *   expect returned 22
 */
#include "shared.h"

EXPORT int32_t h72_malformed(void) { return outcome(send_descriptors(REQUESTS, 1, 3)); }
