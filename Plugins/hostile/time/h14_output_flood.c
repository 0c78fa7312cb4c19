/* Writes output without end.
 *
 * H14: Output without end is cut off; the host never blocks.
 *   call void()
 *   with --wall 500ms
 *   expect wallTimeExceeded
 */
#include "shared.h"

EXPORT void h14_output_flood(void) {
  static const char line[] = "all work and no play makes a dull log, and the host must not drown in it\n";
  for (;;)
    if (write(1 + (rand() & 1), line, sizeof line - 1) < 0) sched_yield();
}
