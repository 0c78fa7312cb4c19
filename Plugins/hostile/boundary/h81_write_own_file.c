/* Its own library: what was loaded is what the host hashed.
 *
 * H81: The loaded library isn't written.
 *   call i32()
 *   expect returned 30|13, works without walls
 */
#include "hostile.h"

EXPORT int32_t h81_write_own_file(void) { return open_for(O_RDWR, own_file()); }
