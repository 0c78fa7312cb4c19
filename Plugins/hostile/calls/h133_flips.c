/* Flips bits of answers while the host reads them.
 *
 * H133: What the host decodes is its own copy.
 *   call i32(i32,out(8192)) 0
 *   with --wall 2s
 *   expect returned|protocolViolation *
 */
#include "shared.h"

#include <pthread.h>

static void *flipping_thread(void *out) {
  unsigned char *payload = answers(out);
  for (unsigned turn = 1;; turn = turn * 1664525u + 1013904223u) payload[(turn >> 16) % 256] ^= (unsigned char)(1 << (turn >> 28 & 7));
  return out;
}

EXPORT int32_t h133_flips(int32_t unused, void *out) {
  pthread_t thread;
  (void)unused;
  return pthread_create(&thread, NULL, flipping_thread, out);
}
