/* Four children with a quarter each.
 *
 * H44: No children share the load.
 *   call i32()
 *   expect returned 1, denied clone, works without walls
 */
#include "shared.h"

#include <sys/wait.h>

EXPORT int32_t h44_children(void) {
  for (int index = 0; index < 4; index++) {
    pid_t child = fork();
    if (child < 0) return errno;
    if (child == 0) _exit(fill(anonymous(MUCH / 4), MUCH / 4));
    waitpid(child, NULL, 0);
  }
  return 0;
}
