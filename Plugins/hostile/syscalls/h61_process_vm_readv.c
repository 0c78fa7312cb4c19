/* Reads a process's memory; its own, which the kernel always lets it.
 *
 * H61: No process's memory is read.
 *   call i32()
 *   expect returned 1, denied process_vm_readv, works without walls
 */
#include "hostile.h"

#include <sys/uio.h>

static char source[16] = "h61", target[16];

EXPORT int32_t h61_process_vm_readv(void) {
  struct iovec local = {target, sizeof target}, remote = {source, sizeof source};
  return outcome(process_vm_readv(getpid(), &local, 1, &remote, 1, 0));
}
