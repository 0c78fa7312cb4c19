/* A log line that isn't UTF-8.
 *
 * H70: A log line that is no text.
 *   call void()
 *   with --wall 2s
 *   expect protocolViolation
 */
#include "shared.h"

EXPORT void h70_log_not_utf8(void) { forge(REQUESTS, LOG, 0, "\0\0\0\0\0\0\0\0\0\2\0\0\0\xff\xfe", 15); }
