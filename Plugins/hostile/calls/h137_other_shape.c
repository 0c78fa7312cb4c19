/* Where a structure of 8 bytes is returned and an i32 comes back: 0 a byte less, 1 a structure as long as the memory,
 * 2 an integer in its place, 3 an i32 of three bytes, 4 no i32.
 *
 * H137: A structure has its size, to the byte.
 *   call {i32,i32}(i32,out(8192),inout i32) 0 5
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H137: A structure is no longer than its type, wherever it is said to lie.
 *   call {i32,i32}(i32,out(8192),inout i32) 1 5
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H137: An integer is no structure.
 *   call {i32,i32}(i32,out(8192),inout i32) 2 5
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H137: What comes back has its size.
 *   call {i32,i32}(i32,out(8192),inout i32) 3 5
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H137: Everything comes back that was given.
 *   call {i32,i32}(i32,out(8192),inout i32) 4 5
 *   with --wall 2s
 *   expect protocolViolation
 */
#include "shared.h"

struct pair {
  int32_t first, second;
};

EXPORT struct pair h137_other_shape(int32_t which, void *out, int32_t *back) {
  unsigned char *payload = answers(out), *at = payload;
  uint32_t size = which == 0 ? 7 : 8, count = which == 4 ? 1 : 2, whole = 0x80000000u | 8192, place = PAYLOAD_ROOM, last = which == 3 ? 3 : 4;
  (void)back;
  memset(payload, 0, 128);
  if (which == 2) {
    *at = 1, at += 9;
  } else if (which == 1) {
    uint32_t all = 0x80000000u | AREA, start = 0;
    *at++ = 7;
    memcpy(at, &all, 4), memcpy(at + 4, &start, 4), at += 8;
  } else {
    *at++ = 7;
    memcpy(at, &size, 4), at += 4 + size;
  }
  memcpy(at, &count, 4), at += 4;
  memcpy(at, &whole, 4), memcpy(at + 4, &place, 4), at += 8;
  if (count == 2) memcpy(at, &last, 4), at += 4 + last;
  at += 9;
  answer(out, RETURNED, (uint32_t)(at - payload));
  ring(words(out));
  return (struct pair){0, 0};
}
