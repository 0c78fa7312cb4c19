#include "outrider.h"
#include "own_place.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN const char *outrider_own_place(void) {
  static const char mark;
  Dl_info place;
  return dladdr(&mark, &place) ? place.dli_fname : 0;
}

static atomic_int has_threads, was_forked;

static void forked(void) {
  if (atomic_load(&has_threads)) atomic_store(&was_forked, 1);
}

HIDDEN void outrider_has_threads(void) {
  if (!atomic_exchange(&has_threads, 1)) pthread_atfork(0, 0, forked);
}

HIDDEN int outrider_was_forked(void) { return atomic_load(&was_forked); }

/* Swift's runtime shows crashes of its programs (SWIFT_BACKTRACE), by handlers that it installs as it is loaded. What a program in another
   language does when it crashes is that program's own business. */
__attribute__((constructor)) static void keep_crashes(void) {
  static const int signals[] = {SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGBUS, SIGSEGV};
  if (getenv("SWIFT_BACKTRACE")) return;
  for (size_t index = 0; index < sizeof signals / sizeof *signals; index++) {
    struct sigaction action;
    Dl_info place;
    if (sigaction(signals[index], 0, &action) < 0 || action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) continue;
    if (!dladdr((void *)action.sa_sigaction, &place) || !place.dli_fname || !strstr(place.dli_fname, "/libswiftCore.so")) continue;
    action = (struct sigaction){.sa_handler = SIG_DFL};
    sigaction(signals[index], &action, 0);
  }
}
