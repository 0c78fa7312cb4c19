/* A frame of 1 GiB.
 *
 * H46: A frame of 1 GiB; memory stays bounded.
 *   call i32()
 *   with --memory 64MiB
 *   expect crashed
 */
#include "hostile.h"

EXPORT int32_t h46_alloca(void) {
  volatile size_t size = 1024 * MIB;
  volatile char *frame = alloca(size);
  frame[0] = 1;
  return frame[0];
}
