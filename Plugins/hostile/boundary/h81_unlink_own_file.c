/* Removes it.
 *
 * H81: Nor removed.
 *   call i32()
 *   expect returned 30|13|16|1, works without walls
 */
#include "hostile.h"

EXPORT int32_t h81_unlink_own_file(void) { return outcome(unlink(own_file())); }
