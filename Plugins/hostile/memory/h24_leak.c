/* Little by little: 1 MiB every 10 ms.
 *
 * H24: Ends near the limit; the reported peak is within the bound of the meter.
 *   call i32()
 *   with --memory 16MiB
 *   expect memoryExceeded
 */
#include "shared.h"

EXPORT int32_t h24_leak(void) {
  for (size_t done = 0; done < MUCH; done += MIB, usleep(10000)) {
    void *memory = malloc(MIB);
    if (fill(memory, MIB)) return ENOMEM;
    /* The compiler may not take the memory for unused. */
    __asm__ volatile("" : : "r"(memory) : "memory");
  }
  return 0;
}
