/* Much dirty memory at the moment of the kill (`--memory 1GiB --wall 2s`): going takes time.
 *
 * H47: Killed-at and gone-at are two numbers; the host is not held up.
 *   call void()
 *   with --memory 1GiB --wall 2s
 *   expect wallTimeExceeded
 */
#include "shared.h"

EXPORT void h47_dirty_and_wait(void) {
  fill(anonymous(512 * MIB), 512 * MIB);
  wait_forever();
}
