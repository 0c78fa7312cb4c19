/* A constructor that forks. Canary: `h118-canary` in the container.
 *
 * H118: The fork fails; canary: no h118-canary in the container.
 *   run
 *   expect returned 3/0, denied clone
 */
#include "plugin.h"

EXTENSION(three_downloads)

static __attribute__((constructor)) void begin(void) {
  if (fork() == 0) {
    opened(open(in_container("h118-canary"), O_CREAT | O_WRONLY, 0600));
    _exit(0);
  }
}
