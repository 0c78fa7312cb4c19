/* 64 MiB before anything was called: constructors count.
 *
 * H23: Constructors count.
 *   run
 *   with --memory 16MiB
 *   expect memoryExceeded
 */
#include "plugin.h"

EXTENSION(three_downloads)

static __attribute__((constructor)) void begin(void) {
  void *memory = mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) touch(memory, 64 * MIB);
}
