/* Waits for a signal.
 *
 * H02: Waits for a signal for ever.
 *   call void()
 *   with --wall 300ms
 *   expect wallTimeExceeded
 */
#include "hostile.h"

EXPORT void h02_pause(void) { wait_forever(); }
