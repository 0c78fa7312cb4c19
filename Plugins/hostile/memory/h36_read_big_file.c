/* Reads a mapped file of four times the limit. Not to be punished.
 *
 * H36: Trap: reads a mapped file of four times the limit; the container must be on a disk, not on tmpfs.
 *   call i32()
 *   with --memory 16MiB
 *   expect returned 0, works without walls
 */
#include "shared.h"

EXPORT int32_t h36_read_big_file(void) {
  int file = clean_file("h36", MUCH);
  const volatile char *memory = file < 0 ? NULL : map(MUCH, PROT_READ, MAP_SHARED, file);
  if (!memory) return errno;
  for (size_t at = 0; at < MUCH; at += 4096) (void)memory[at];
  return outcome(unlink(in_container("h36")));
}
