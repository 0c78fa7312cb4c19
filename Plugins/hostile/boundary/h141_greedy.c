/* Its time is over, and it is asked where its threads are: it takes memory instead.
 *
 * H141: Asked where its threads are, it takes memory: it gets none beyond its limit, and little time.
 *   call void()
 *   with --wall 300ms
 *   expect wallTimeExceeded
 */
#include "shared.h"

static void greedy(int number) {
  (void)number;
  for (;;) {
    volatile char *more = malloc(1 << 20);
    if (!more) continue;
    for (size_t at = 0; at < 1 << 20; at += 4096) more[at] = 1;
  }
}

EXPORT void h141_greedy(void) {
  signal(SIGURG, greedy);
  spin();
}
