/* Schedules 6 GB of downloads that the host would have to keep. Returns how the first that it didn't take was refused.
 *
 * H15: What is scheduled is bounded in bytes; the host does not grow.
 *   call i32()
 *   expect returned 102
 */
#include "shared.h"

static int32_t answered_status(void) {
  struct {
    struct header header;
    int32_t status;
  } answer = {.status = -1};
  recv(channel(REQUESTS), &answer, sizeof(struct header) + sizeof(int32_t), MSG_WAITALL);
  return answer.status;
}

EXPORT int32_t h15_schedule_flood(void) {
  int32_t status = 0;
  for (uint64_t id = 1; id < 100000 && status == 0; id++) {
    send_schedule(id, 60000);
    status = answered_status();
  }
  return status;
}
