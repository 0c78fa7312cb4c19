/* Forks until it fails; 64 are enough to show it.
 *
 * H10: The first fork of the bomb fails.
 *   call i32()
 *   expect returned 1, denied clone, works without walls
 */
#include "hostile.h"

#include <sys/wait.h>

EXPORT int32_t h10_fork_bomb(void) {
  pid_t children[64];
  int count = 0, code = 0;
  for (; count < 64 && code == 0; count++) {
    children[count] = fork();
    if (children[count] == 0) {
      usleep(500000);
      _exit(0);
    }
    code = outcome(children[count]);
  }
  for (int index = 0; index < count; index++)
    if (children[index] > 0) kill(children[index], SIGKILL), waitpid(children[index], NULL, 0);
  return code;
}
