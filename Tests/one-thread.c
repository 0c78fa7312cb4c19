// Preloaded into the program of the tests: there is one processor, so that all of Swift's tasks share one thread. A test
// that blocks it until another task lets it go then hangs each time, and not only when as many do so as there are cores.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

// The programs that tests start have all of their threads.
__attribute__((constructor)) static void keep_to_this_program(void) { unsetenv("LD_PRELOAD"); }

long sysconf(int name) {
  static long (*original)(int);
  if (!original) original = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
  return name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF ? 1 : original(name);
}
