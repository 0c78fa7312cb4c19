/* Writes a file of four times the limit. Not to be punished for memory.
 *
 * H38: Trap: the dirty page cache of a file is not the plugin's memory; container on a disk.
 *   call i32()
 *   with --memory 16MiB
 *   expect returned 0, works without walls
 */
#include "shared.h"

EXPORT int32_t h38_write_big_file(void) {
  int32_t code = opened(big_file("h38", MUCH));
  return code ? code : outcome(unlink(in_container("h38")));
}
