/* A private writable mapping of a big file that is never written. Not to be punished.
 *
 * H40: Trap: a private writable file mapping that is never written; container on a disk.
 *   call i32()
 *   with --memory 16MiB
 *   expect returned 0, works without walls
 */
#include "shared.h"

EXPORT int32_t h40_private_unwritten(void) {
  int file = clean_file("h40", MUCH);
  volatile char *memory = file < 0 ? NULL : map(MUCH, PROT_READ | PROT_WRITE, MAP_PRIVATE, file);
  if (!memory) return errno;
  for (size_t at = 0; at < MUCH; at += 4096) (void)memory[at];
  return outcome(unlink(in_container("h40")));
}
