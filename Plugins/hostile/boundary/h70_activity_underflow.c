/* The end of an activity that never began.
 *
 * H70: More ends than beginnings.
 *   call void()
 *   with --wall 2s
 *   expect protocolViolation
 */
#include "shared.h"

EXPORT void h70_activity_underflow(void) { forge(REQUESTS, END_ACTIVITY, 0, "", 0); }
