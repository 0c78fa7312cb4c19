/* A memory file, mapped.
 *
 * H29: No memory files.
 *   call i32()
 *   with --memory 16MiB
 *   expect returned 1, denied memfd_create, works without walls
 */
#include "shared.h"

EXPORT int32_t h29_memfd_mapped(void) {
  int file = memfd_create("h29", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, (off_t)MUCH) < 0) return errno;
  return fill(map(MUCH, PROT_READ | PROT_WRITE, MAP_SHARED, file), MUCH);
}
