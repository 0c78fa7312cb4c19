/* An answer to a question that wasn't asked: 0 a later one, 1 an earlier one, 2 all words are noise.
 *
 * H131: The answer to a later question is none.
 *   call void(i32,out(8192)) 0
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H131: The answer to an earlier question is none.
 *   call void(i32,out(8192)) 1
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H131: Noise is no answer; where the host isn't looking, the clock ends it.
 *   call void(i32,out(8192)) 2
 *   with --wall 2s
 *   expect protocolViolation|wallTimeExceeded
 */
#include "shared.h"

EXPORT void h131_other_question(int32_t which, void *out) {
  struct words *shared = words(out);
  if (which == 2) memset(shared, 0xa5, offsetof(struct words, answer.runner_waits));
  else shared->answer.sequence = shared->question.sequence + (which == 0 ? 7u : -7u);
  ring(shared);
}
