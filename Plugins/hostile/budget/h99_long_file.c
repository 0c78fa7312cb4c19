/* A file beyond the limit of its length. Sparse: it takes no room.
 *
 * H99: A file ends at the limit of its length (EFBIG): write.
 *   call i32(cstring) write
 *   expect returned 0|27, denied write, works without walls
 *
 * H99: A file ends at the limit of its length (EFBIG): ftruncate.
 *   call i32(cstring) ftruncate
 *   expect returned 0|27, denied write, works without walls
 *
 * H99: A file ends at the limit of its length (EFBIG): fallocate.
 *   call i32(cstring) fallocate
 *   expect returned 27, denied fallocate, works without walls
 *
 * H99: The same with the signal's default restored.
 *   call i32(cstring) signal
 *   expect returned|crashed 0|27
 */
#include "hostile.h"

EXPORT int32_t h99_long_file(const char *way) {
  const off_t limit = (off_t)1 << 30;
  int32_t code = -1;
  int file = open(in_container("h99"), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) return errno;
  if (strcmp(way, "write") == 0) code = outcome(pwrite(file, "x", 1, limit));
  if (strcmp(way, "ftruncate") == 0) code = outcome(ftruncate(file, limit + 1));
  if (strcmp(way, "fallocate") == 0) code = outcome(fallocate(file, 1, limit, 1));
  if (strcmp(way, "signal") == 0) {
    /* With the signal's default restored, which would end another process. */
    signal(SIGXFSZ, SIG_DFL);
    code = outcome(pwrite(file, "x", 1, limit));
  }
  unlink(in_container("h99"));
  return code;
}
