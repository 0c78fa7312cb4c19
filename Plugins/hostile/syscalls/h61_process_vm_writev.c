/* Writes it.
 *
 * H61: No process's memory is written.
 *   call i32()
 *   expect returned 1, denied process_vm_writev, works without walls
 */
#include "hostile.h"

#include <sys/uio.h>

static char source[16] = "h61", target[16];

EXPORT int32_t h61_process_vm_writev(void) {
  struct iovec local = {source, sizeof source}, remote = {target, sizeof target};
  return outcome(process_vm_writev(getpid(), &local, 1, &remote, 1, 0));
}
