/* An answer that is none: 0 of a length that no value has, 1 of a kind that no value has, 2 what only trusted code says, 3
 * nothing but noise, 4 a buffer that lies beyond the memory, 5 the same buffer a thousand times.
 *
 * H131: A length that no process has room for is refused unread.
 *   call void(i32,out(8192)) 0
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H131: A kind beyond a byte is none.
 *   call void(i32,out(8192)) 1
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H131: What only trusted code says isn't said here.
 *   call void(i32,out(8192)) 2
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H131: Noise isn't a payload.
 *   call void(i32,out(8192)) 3
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H131: A buffer lies within the memory.
 *   call void(i32,out(8192)) 4
 *   with --wall 2s
 *   expect protocolViolation
 *
 * H131: One answer is no longer than the memory, however often it names it.
 *   call void(i32,out(8192)) 5
 *   with --wall 2s
 *   expect protocolViolation
 */
#include "shared.h"

EXPORT void h131_nonsense(int32_t which, void *out) {
  unsigned char *payload = answers(out);
  switch (which) {
  case 0: answer(out, RETURNED, UINT32_MAX); break;
  case 1: answer(out, 300, 0); break;
  case 2:
    memset(payload, 0, 4);
    answer(out, WALLS_CLOSED, 4);
    break;
  case 3:
    memset(payload, 0xa5, 64);
    answer(out, RETURNED, 64);
    break;
  default: {
    /* No value, then the buffers: their count, and for each its marked size and its place. */
    uint32_t count = which == 4 ? 1 : 1000, size = 0x80000000u | (which == 4 ? 64 : 4 << 20), place = which == 4 ? AREA - 8 : 0;
    unsigned char *at = payload;
    *at++ = 0;
    memcpy(at, &count, 4), at += 4;
    for (uint32_t index = 0; index < count; index++, at += 8) memcpy(at, &size, 4), memcpy(at + 4, &place, 4);
    memset(at, 0, 9);
    answer(out, RETURNED, (uint32_t)(at + 9 - payload));
  }
  }
  ring(words(out));
}
