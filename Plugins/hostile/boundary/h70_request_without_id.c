/* A request that expects a reply and names none.
 *
 * H70: A request without an id.
 *   call void()
 *   with --wall 2s
 *   expect protocolViolation
 */
#include "shared.h"

EXPORT void h70_request_without_id(void) { forge(REQUESTS, CURRENT_DOWNLOADS, 0, "", 0); }
