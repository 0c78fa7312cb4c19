/* Has the list of those that it took sent again and again, and never reads it.
 *
 * H15: Who does not read the answers gets no more of them.
 *   call void()
 *   with --wall 5s
 *   expect protocolViolation|wallTimeExceeded
 */
#include "shared.h"

EXPORT void h15_list_flood(void) {
  h15_schedule_flood();
  for (uint64_t id = 1u << 20;; id++) send_frame(REQUESTS, CURRENT_DOWNLOADS, id, 0, "", 0);
}
