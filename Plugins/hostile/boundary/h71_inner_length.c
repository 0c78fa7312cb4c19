/* A length that no process has room for, inside a frame: a text, or a list, of so many elements.
 *
 * H71: The same inside a frame.
 *   call void(u32) 4294967295
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H71: The same inside a frame.
 *   call void(u32) 2147483648
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H71: The same inside a frame.
 *   call void(u32) 1073741824
 *   with --wall 2s
 *   expect protocolViolation
 */
#include "shared.h"

EXPORT void h71_inner_length(uint32_t length) { forge(CALLS, LOAD_FAILED, 1, &length, sizeof length); }
