/* A log level that doesn't exist.
 *
 * H70: A level that doesn't exist.
 *   call void()
 *   with --wall 2s
 *   expect protocolViolation
 */
#include "shared.h"

EXPORT void h70_log_level(void) { forge(REQUESTS, LOG, 0, "\x7f\0\0\0\0\0\0\0\0\0\0\0\0", 13); }
