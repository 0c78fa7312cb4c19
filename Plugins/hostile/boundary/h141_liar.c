/* Tells of ten thousand threads that it hasn't got.
 *
 * H141: Tells of ten thousand threads that it hasn't got: the report is bounded and printable.
 *   call void()
 *   with --wall 300ms
 *   expect wallTimeExceeded
 */
#include "shared.h"

static void liar(int number) {
  (void)number;
  for (uint32_t thread = 0; thread < 10000; thread++) {
    for (uint32_t frame = 0; frame < 40; frame++) say_frame(thread, frame);
    if (thread % 3) say_told(thread);
  }
  spin();
}

EXPORT void h141_liar(void) {
  signal(SIGURG, liar);
  spin();
}
