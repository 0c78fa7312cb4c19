/* A private file mapping, written: every page becomes a copy of its own.
 *
 * H41: Private copies of file pages count.
 *   call i32()
 *   with --memory 16MiB
 *   expect memoryExceeded
 */
#include "shared.h"

EXPORT int32_t h41_private_written(void) {
  int file = big_file("h41", MUCH);
  unlink(in_container("h41"));
  return file < 0 ? errno : fill(map(MUCH, PROT_READ | PROT_WRITE, MAP_PRIVATE, file), MUCH);
}
