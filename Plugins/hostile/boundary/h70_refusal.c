/* The first call refused, after something that the report has to keep; with words for the host to say, or none.
 *
 * H70: A refusal has no words of its own, and hides nothing.
 *   call i32(i32) 1
 *   with --wall 2s
 *   expect protocolViolation, denied socket
 *
 * H70: A runner that says that it is no function ends that call alone; the record stays.
 *   call i32(i32) 0
 *   with --wall 2s
 *   expect entryPointMissing, denied socket
 */
#include "shared.h"

EXPORT int32_t h70_refusal(int32_t words) {
  static const char text[] = "\5\0\0\0xyzzy";
  socket(AF_INET, SOCK_STREAM, 0);
  forge(CALLS, CALL_REFUSED, 2, text, words ? 9 : 0);
  return 0;
}
