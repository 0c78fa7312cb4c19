/* Schedules and reads no answer.
 *
 * H15: The same while scheduling.
 *   call void()
 *   with --wall 2s
 *   expect protocolViolation|wallTimeExceeded
 */
#include "shared.h"

EXPORT void h15_blind_schedule_flood(void) {
  for (uint64_t id = 1;; id++) send_schedule(id, 60000);
}
