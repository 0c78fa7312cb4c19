/* Asks without end and never reads an answer.
 *
 * H75: A plugin that doesn't read its answers blocks no other run.
 *   call void()
 *   with --wall 2s
 *   expect protocolViolation|wallTimeExceeded
 */
#include "shared.h"

EXPORT void h75_never_reads(void) {
  for (uint64_t id = 1u << 20;; id++) send_frame(REQUESTS, CURRENT_DOWNLOADS, id, 0, "", 0);
}
