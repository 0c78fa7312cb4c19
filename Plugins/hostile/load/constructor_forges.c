/* A constructor that says in the runner's name that the library is loaded: the runner says so a second time.
 *
 * H70: "Loaded" from the plugin and from the runner is once too often.
 *   run
 *   with --wall 5s
 *   expect protocolViolation
 */
#include "plugin.h"

EXTENSION(three_downloads)

static __attribute__((constructor)) void begin(void) {
  /* Header and content of "loaded", id 1: ABI version 1, no name, no Swift, no entry points. */
  static const unsigned char frame[29] = {0x6f, 0x52, 1, 65, 13, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1};
  struct stat status;
  for (int descriptor = 3; descriptor < 64; descriptor++)
    if (fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode)) {
      if (write(descriptor, frame, sizeof frame) < 0) _exit(1);
      return;
    }
}
