/* Calls that no filter sees.
 *
 * H55: No ring.
 *   call i32()
 *   expect returned 1|38, denied io_uring_setup, works without walls
 */
#include "hostile.h"

#include <linux/io_uring.h>

EXPORT int32_t h55_io_uring(void) {
  struct io_uring_params parameters;
  memset(&parameters, 0, sizeof parameters);
  return opened(syscall(SYS_io_uring_setup, 4, &parameters));
}
