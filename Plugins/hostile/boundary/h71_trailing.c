/* Bytes after the end of a frame's content.
 *
 * H71: Bytes after a frame's content.
 *   call void()
 *   with --wall 2s
 *   expect protocolViolation
 */
#include "shared.h"

EXPORT void h71_trailing(void) { forge(REQUESTS, BEGIN_ACTIVITY, 0, "more", 4); }
