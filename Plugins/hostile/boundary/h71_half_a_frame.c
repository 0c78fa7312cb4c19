/* A frame that is announced and never arrives in full. The clock ends that.
 *
 * H71: A frame that never ends is waited for until the deadline.
 *   call void()
 *   with --wall 500ms
 *   expect wallTimeExceeded
 */
#include "shared.h"

EXPORT void h71_half_a_frame(void) {
  send_frame(CALLS, RETURNED, 1, 1000, "half", 4);
  wait_forever();
}
