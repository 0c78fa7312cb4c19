/* A kind of frame that doesn't exist.
 *
 * H70: A frame of no kind, on channel 0.
 *   call void(i32) 0
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H70: A frame of no kind, on channel 1.
 *   call void(i32) 1
 *   with --wall 2s
 *   expect protocolViolation
 */
#include "shared.h"

EXPORT void h70_unknown_kind(int32_t which) { forge(which, 255, 1, "", 0); }
