/* Writes, removes or replaces the host's state, whose path it has to guess.
 *
 * H94: The host's state isn't there.
 *   call i32(cstring) /var/lib/outrider/outrider.sqlite
 *   expect returned 2|13|30
 *
 * H94: The host's state isn't there.
 *   call i32(cstring) /var/lib/outrider/canary
 *   expect returned 2|13|30
 */
#include "hostile.h"

EXPORT int32_t h94_unlink(const char *path) { return outcome(unlink(path)); }
