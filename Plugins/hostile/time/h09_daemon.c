/* A daemon that goes on after the call. Canary: `h09-canary` in the container, a moment after the end.
 *
 * H09: No daemon outlives the call; canary: no h09-canary in the container half a second later.
 *   call i32()
 *   expect returned 1, denied clone, works without walls
 */
#include "hostile.h"

EXPORT int32_t h09_daemon(void) {
  pid_t child = fork();
  if (child != 0) return outcome(child);
  setsid();
  if (fork() == 0) {
    usleep(100000);
    close(open(in_container("h09-canary"), O_CREAT | O_WRONLY, 0600));
  }
  _exit(0);
}
