/* Writes noise over the words by which the two wait for each other.
 *
 * H133: Who writes noise over the words harms its own run alone.
 *   call i32(i32,out(8192)) 0
 *   with --wall 2s
 *   expect returned|protocolViolation|wallTimeExceeded *, denied *
 */
#include "shared.h"

#include <pthread.h>

static void *scribbling_thread(void *out) {
  volatile unsigned char *bytes = (unsigned char *)words(out);
  for (unsigned turn = 1;; turn = turn * 1664525u + 1013904223u) bytes[(turn >> 16) % 512] = (unsigned char)(turn >> 8);
  return out;
}

EXPORT int32_t h133_scribbles(int32_t unused, void *out) {
  pthread_t thread;
  (void)unused;
  return pthread_create(&thread, NULL, scribbling_thread, out);
}
