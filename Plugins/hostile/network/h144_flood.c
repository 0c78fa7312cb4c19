/* Opens and closes connections to what is listed, far more than a run may have.
 *
 * H144: Two thousand connections, one after the other: those beyond the bound are refused.
 *   call i32(i32) 2000
 *   with --network 127.0.0.1:9
 *   expect returned 0, denied connect
 */
#include "shared.h"

EXPORT int32_t h144_flood(int32_t count) {
  for (int32_t index = 0; index < count; index++) {
    int32_t code = opened(connected("127.0.0.1", LISTED));
    /* What is beyond the bound is reset, before connect(2) returns or after. */
    if (code != 0 && code != ECONNRESET) return code;
  }
  return 0;
}
