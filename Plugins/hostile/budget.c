/* Budget and persistence: H90 to H97. What only the host can do to itself isn't here. */
#include "hostile.h"

#include <sys/prctl.h>
#include <time.h>

static void burn(double length) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const double end = (double)now.tv_sec + (double)now.tv_nsec / 1e9 + length;
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while ((double)now.tv_sec + (double)now.tv_nsec / 1e9 < end);
}

/* H90: uses 200 ms and crashes in order not to be charged. */
EXPORT void h90_crash_at_the_end(void) {
  burn(0.2);
  abort();
}

/* H90: uses 200 ms and leaves. */
EXPORT void h90_exit_at_the_end(void) {
  burn(0.2);
  _exit(0);
}

/* H92: 100 ms of CPU: what several at once are charged with is the sum. */
EXPORT int32_t h92_use_some(void) {
  burn(0.1);
  return 0;
}

/* H93: sets the clock back by a day. */
EXPORT int32_t h93_yesterday(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_sec -= 86400;
  return outcome(clock_settime(CLOCK_REALTIME, &time));
}

/* H94: writes, removes or replaces the host's state, whose path it has to guess. */
EXPORT int32_t h94_write(const char *path) { return opened(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)); }
EXPORT int32_t h94_unlink(const char *path) { return outcome(unlink(path)); }

/* H94: out of the container by name. */
EXPORT int32_t h94_above_container(void) {
  int32_t code = opened(open(in_container("../h94-canary"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (code == 0) unlink(in_container("../h94-canary"));
  return code;
}

/* H95: another name for its process: allowed, and no matter. */
EXPORT int32_t h95_rename_itself(void) { return outcome(prctl(PR_SET_NAME, "someone-else")); }

/* H97: wants its day's budget to end in mid-call: with `--wall` above what is left. */
EXPORT void h97_use_everything(void) { burn(1e9); }
