/* Activities without end, while the call that they would put off is still under way.
 *
 * H15: Activities put off no deadline.
 *   call void()
 *   with --wall 500ms
 *   expect wallTimeExceeded
 */
#include "shared.h"

EXPORT void h15_activities(void) {
  for (;;) {
    send_frame(REQUESTS, BEGIN_ACTIVITY, 0, 0, "", 0);
    send_frame(REQUESTS, END_ACTIVITY, 0, 0, "", 0);
  }
}
