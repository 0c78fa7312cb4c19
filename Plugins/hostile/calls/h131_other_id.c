/* The right question, and another call's id.
 *
 * H131: Another call's id is no answer.
 *   call void(i32,out(8192)) 0
 *   with --wall 2s
 *   expect protocolViolation
 */
#include "shared.h"

EXPORT void h131_other_id(int32_t unused, void *out) {
  struct words *shared = words(out);
  (void)unused;
  shared->answer.id = shared->question.id + 1;
  __atomic_store_n(&shared->answer.sequence, shared->question.sequence, __ATOMIC_SEQ_CST);
  ring(shared);
}
