/* A mapped file that has become shorter.
 *
 * H78: The report names the signal, and the function where there is one.
 *   call i32()
 *   with --wall 5s
 *   expect crashed
 */
#include "hostile.h"

EXPORT int32_t h78_bus(void) {
  int file = big_file("h78", 65536);
  volatile char *memory = mmap(NULL, 65536, PROT_READ, MAP_SHARED, file, 0);
  unlink(in_container("h78"));
  if (file < 0 || memory == MAP_FAILED || ftruncate(file, 0) < 0) return errno;
  return memory[4096];
}
