/* Every microsecond: sooner than a handler returns, so the plugin itself gets nowhere. The clock ends that.
 *
 * H17: A storm that stops the plugin stops neither the host nor the kill.
 *   call void()
 *   with --wall 1s
 *   expect wallTimeExceeded, denied *
 */
#include "shared.h"

EXPORT void h17_timer_livelock(void) {
  storm(1);
  wait_forever();
}
