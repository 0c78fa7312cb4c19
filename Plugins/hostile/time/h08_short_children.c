/* Burns CPU in children, each too short for RLIMIT_CPU.
 *
 * H08: Children that burn CPU time are refused.
 *   call i32()
 *   expect returned 1, denied clone, works without walls
 */
#include "shared.h"

#include <sys/wait.h>

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

EXPORT int32_t h08_short_children(void) {
  for (int index = 0; index < 3; index++) {
    pid_t child = fork();
    if (child < 0) return errno;
    if (child == 0) {
      for (double end = seconds() + 0.1; seconds() < end;) {
      }
      _exit(0);
    }
    waitpid(child, NULL, 0);
  }
  return 0;
}
