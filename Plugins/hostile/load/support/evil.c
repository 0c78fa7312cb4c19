/* What must never be loaded. Where it is, it leaves a mark: `evil-canary` in the container. */
#include "hostile.h"

EXPORT int evil_was_loaded(void) { return 0; }
EXPORT unsigned la_version(unsigned version) { return version; }
static __attribute__((constructor)) void begin(void) {
  const char *home = getenv("HOME");
  char path[4096];
  snprintf(path, sizeof path, "%s/evil-canary", home ? home : "/container");
  opened(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}
