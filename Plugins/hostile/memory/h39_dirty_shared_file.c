/* Dirties a shared file mapping of four times the limit. Not to be punished.
 *
 * H39: Trap: a dirty shared file mapping is not anonymous; container on a disk.
 *   call i32()
 *   with --memory 16MiB
 *   expect returned 0, works without walls
 */
#include "shared.h"

EXPORT int32_t h39_dirty_shared_file(void) {
  int file = big_file("h39", MUCH);
  void *memory = file < 0 ? NULL : map(MUCH, PROT_READ | PROT_WRITE, MAP_SHARED, file);
  if (!memory) return errno;
  touch(memory, MUCH);
  return outcome(unlink(in_container("h39")));
}
