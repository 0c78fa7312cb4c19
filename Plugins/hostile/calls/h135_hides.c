/* Keeps what it has in the memory for calls, and lets go of the pages, so that no counter of its own shows them.
 *
 * H135: Pages that it fills there are its own, mapped or not.
 *   call void(i32,out(8192)) 0
 *   with --wall 5s --memory 4MiB
 *   expect memoryExceeded
 */
#include "shared.h"

EXPORT void h135_hides(int32_t unused, void *out) {
  unsigned char *begin = (unsigned char *)words(out) + WORDS;
  (void)unused;
  touch(begin, 2 * AREA);
  madvise(begin, 2 * AREA, MADV_DONTNEED);
  wait_forever();
}
