/* Has told before anybody asks.
 *
 * H141: Tells where a thread is before anybody asks.
 *   call i32()
 *   expect protocolViolation
 */
#include "shared.h"

EXPORT int32_t h141_early(void) {
  say_frame(1, 0);
  say_told(1);
  return 0;
}
