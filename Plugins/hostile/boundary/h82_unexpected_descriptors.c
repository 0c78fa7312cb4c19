/* Descriptors beside standard input, output and error and two channels; their number, so 0 is right.
 *
 * H82: No descriptor beyond the published ones.
 *   call i32()
 *   expect returned 0
 */
#include "hostile.h"

EXPORT int32_t h82_unexpected_descriptors(void) {
  struct stat status;
  int32_t sockets = 0, others = 0;
  for (int descriptor = 3; descriptor < 1024; descriptor++)
    if (fstat(descriptor, &status) == 0) *(S_ISSOCK(status.st_mode) ? &sockets : &others) += 1;
  return others + (sockets > 2 ? sockets - 2 : 0);
}
