/* Answers, and says so on the socket again and again.
 *
 * H132: The socket says of an answer once.
 *   call void(i32,out(8192)) 0
 *   with --wall 2s
 *   expect protocolViolation
 */
#include "shared.h"

EXPORT void h132_rings_on(int32_t unused, void *out) {
  struct words *shared = words(out);
  (void)unused;
  struct {
    uint16_t magic;
    uint8_t version, kind;
    uint32_t length;
    uint64_t id;
  } header = {0x526f, 1, ANSWERED, 0, shared->question.id};
  for (int turn = 0; turn < 100; turn++) send(3, &header, sizeof header, MSG_NOSIGNAL);
  wait_forever();
}
