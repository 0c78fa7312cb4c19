/* H23: a constructor that takes 64 MiB */
#include "hostile.h"
__attribute__((constructor)) static void begin(void) {
  char *bytes = malloc(64 * MiB);
  if (bytes) touch(bytes, 64 * MiB);
}
EXPORT int32_t ok(void) { return 0; }
