/* From now on a thread answers before the function that is called does.
 *
 * H132: A plugin's answer is its own affair; the next call's is the next call's.
 *   call i32(i32,out(8192)) 0
 *   expect returned 0
 */
#include "shared.h"

#include <pthread.h>

static struct words *planted;

static void *forging_thread(void *unused) {
  /* -1, and nothing else. */
  static const unsigned char payload[22] = {1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  for (uint32_t last = planted->question.sequence;;) {
    uint32_t asked = __atomic_load_n(&planted->question.sequence, __ATOMIC_SEQ_CST);
    if (asked == last) continue;
    last = asked;
    memcpy((unsigned char *)planted + WORDS + AREA, payload, sizeof payload);
    planted->answer.kind = RETURNED;
    planted->answer.length = sizeof payload;
    planted->answer.id = planted->question.id;
    __atomic_store_n(&planted->answer.sequence, asked, __ATOMIC_SEQ_CST);
  }
  return unused;
}

EXPORT int32_t h132_forges(int32_t unused, void *out) {
  pthread_t thread;
  (void)unused;
  planted = words(out);
  return pthread_create(&thread, NULL, forging_thread, NULL);
}
