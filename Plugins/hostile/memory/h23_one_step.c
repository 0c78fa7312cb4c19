/* All at once.
 *
 * H23: 64 MiB at once.
 *   call i32()
 *   with --memory 16MiB
 *   expect memoryExceeded
 */
#include "shared.h"

EXPORT int32_t h23_one_step(void) { return fill(malloc(MUCH), MUCH); }
