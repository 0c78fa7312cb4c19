/* Loaded a second time.
 *
 * H70: Loaded twice.
 *   call void()
 *   with --wall 2s
 *   expect protocolViolation
 */
#include "shared.h"

EXPORT void h70_loaded_again(void) { forge(CALLS, LOADED, 1, "\1\0\0\0\0\0\0\0\0\0\0\0\0", 13); }
