/* The first call answered with what isn't its type: a text, a number beyond its range, a buffer too many, nothing, a
 * number without a sign, a download without a content request.
 *
 * H70: A text for a number is no answer.
 *   call i32(i32) 0
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H70: Nor a number beyond its type.
 *   call i32(i32) 1
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H70: Nor a buffer that the host didn't ask for.
 *   call i32(i32) 2
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H70: Nor nothing at all.
 *   call i32(i32) 3
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H70: Nor a number without a sign.
 *   call i32(i32) 4
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H70: Nor a download where none was asked for.
 *   call i32(i32) 5
 *   with --wall 2s
 *   expect protocolViolation
 */
#include "shared.h"

EXPORT int32_t h70_forged_value(int32_t which) {
  static const struct {
    const char *bytes;
    size_t length;
  } answers[] = {
      {"\6\1\1\0\0\0x\0\0\0\0\0\0\0\0\0\0\0\0", 19},
      {"\1\0\0\0\0\0\0\0\x7f\0\0\0\0\0\0\0\0\0\0\0\0", 21},
      {"\1\0\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0x\0\0\0\0\0\0\0\0", 26},
      {"\0\0\0\0\0\0\0\0\0\0\0\0\0", 13},
      {"\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 21},
      {"\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0x", 26},
  };
  forge(CALLS, RETURNED, 2, answers[which].bytes, answers[which].length);
  return 0;
}
