/* Keeps every connection until none can be made.
 *
 * H144: As many as it may have open files, and no more.
 *   call i32()
 *   with --network 127.0.0.1:9
 *   expect returned 24, denied *
 */
#include "shared.h"

EXPORT int32_t h144_hold(void) {
  for (;;)
    if (connected_as_listed() < 0) return errno;
}
