/* A filter that would allow everything by prctl, which is older.
 *
 * H58: The same by prctl.
 *   call i32()
 *   expect returned 1, denied prctl
 */
#include "shared.h"

#include <sys/prctl.h>

EXPORT int32_t h58_prctl_filter(void) {
  struct sock_filter code = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {1, &code};
  return outcome(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}
