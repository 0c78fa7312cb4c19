/* A confession to a crash that isn't one; the kernel's word counts, so it changes nothing but the text.
 *
 * H70: A false confession changes nothing: it returned.
 *   call i32()
 *   expect returned 0
 */
#include "shared.h"

EXPORT int32_t h70_forged_crash(void) {
  static const char site[61] = {11};
  send_frame(CALLS, CRASHED, 0, sizeof site, site, sizeof site);
  return 0;
}
