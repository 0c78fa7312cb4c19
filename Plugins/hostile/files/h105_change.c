/* Changes a file that may only be read, in one of the ways there are.
 *
 * H105: The bundle is the same afterwards: truncate-on-open.
 *   call i32(cstring) truncate-on-open
 *   expect returned 30|13, works without walls
 *
 * H105: The bundle is the same afterwards: truncate-on-read.
 *   call i32(cstring) truncate-on-read
 *   expect returned 30|13, works without walls
 *
 * H105: The bundle is the same afterwards: truncate.
 *   call i32(cstring) truncate
 *   expect returned 30|13, works without walls
 *
 * H105: The bundle is the same afterwards: append.
 *   call i32(cstring) append
 *   expect returned 30|13, works without walls
 *
 * H105: The bundle is the same afterwards: create.
 *   call i32(cstring) create
 *   expect returned 30|13, works without walls
 *
 * H105: The bundle is the same afterwards: ftruncate.
 *   call i32(cstring) ftruncate
 *   expect returned 22|9|13
 *
 * H105: The bundle is the same afterwards: punch.
 *   call i32(cstring) punch
 *   expect returned 9|1|13
 *
 * H105: The bundle is the same afterwards: copy-range.
 *   call i32(cstring) copy-range
 *   expect returned 9|13|22
 *
 * H105: The bundle is the same afterwards: splice.
 *   call i32(cstring) splice
 *   expect returned 38
 *
 * H105: The bundle is the same afterwards: write-mapping.
 *   call i32(cstring) write-mapping
 *   expect returned 13
 *
 * H105: The bundle is the same afterwards: upgrade-mapping.
 *   call i32(cstring) upgrade-mapping
 *   expect returned 13
 */
#include "hostile.h"

EXPORT int32_t h105_change(const char *way) {
  const char *path = own_file();
  if (strcmp(way, "truncate-on-open") == 0) return open_for(O_WRONLY | O_TRUNC, path);
  if (strcmp(way, "truncate-on-read") == 0) return open_for(O_RDONLY | O_TRUNC, path);
  if (strcmp(way, "truncate") == 0) return outcome(truncate(path, 0));
  if (strcmp(way, "append") == 0) return open_for(O_WRONLY | O_APPEND, path);
  if (strcmp(way, "create") == 0) return opened(creat(path, 0600));
  int file = open(path, O_RDONLY | O_CLOEXEC), ends[2];
  if (file < 0 || pipe2(ends, O_CLOEXEC) < 0) return errno;
  if (strcmp(way, "ftruncate") == 0) return outcome(ftruncate(file, 0));
  if (strcmp(way, "punch") == 0) return outcome(fallocate(file, 3, 0, 4096));
  if (strcmp(way, "copy-range") == 0) {
    loff_t from = 0, to = 4096;
    return outcome(copy_file_range(file, &from, file, &to, 16, 0));
  }
  if (strcmp(way, "splice") == 0) return write(ends[1], "x", 1) < 0 ? errno : outcome(splice(ends[0], NULL, file, NULL, 1, 0));
  if (strcmp(way, "write-mapping") == 0) {
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return memory == MAP_FAILED ? errno : 0;
  }
  if (strcmp(way, "upgrade-mapping") == 0) {
    void *memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
    return memory == MAP_FAILED ? errno : outcome(mprotect(memory, 4096, PROT_READ | PROT_WRITE));
  }
  return -1;
}
