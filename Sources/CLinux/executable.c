#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* What libraries ask /proc for, and can't do without, where there is none. The loader finds a program's symbols before
   those of the C library. */

/* Foundation finds the main bundle by the executable's path, which it asks for once, when it is loaded. Apple's
   CoreFoundation takes it from CFProcessPath where that is set; this does the same for the one on Linux. */
ssize_t readlink(const char *restrict path, char *restrict buffer, size_t capacity) {
  const char *executable = strcmp(path, "/proc/self/exe") == 0 ? getenv("CFProcessPath") : NULL;
  if (!executable) return syscall(SYS_readlinkat, AT_FDCWD, path, buffer, capacity);
  size_t length = strlen(executable);
  if (length > capacity) length = capacity;
  memcpy(buffer, executable, length);
  return (ssize_t)length;
}

/* libdispatch looks whether the workers of a busy queue run or sleep (proc_pid_stat(5), field 3), and ends the process if it
   can't. It is told that they sleep: then it makes more of them, one at a time, and blocks that wait for each other never
   wait for ever. */
static int worker_status(const char *path) {
  int worker = 0, length = 0;
  if (sscanf(path, "/proc/%d/stat%n", &worker, &length) != 1 || length == 0 || path[length] != 0) return -1;
  char text[32];
  int count = snprintf(text, sizeof text, "%d (worker) S 0\n", worker);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return -1;
  ssize_t written = write(ends[1], text, (size_t)count);
  close(ends[1]);
  if (written == count) return ends[0];
  close(ends[0]);
  return -1;
}

/* The same where the process has no descriptor left: another thread may close one soon, and until then it waits, some ten seconds
   at most. */
static int open_worker(const char *path, int flags) {
  int worker = 0, length = 0, result = -1;
  if (sscanf(path, "/proc/%d/stat%n", &worker, &length) != 1 || length == 0 || path[length] != 0) {
    errno = EMFILE;
    return -1;
  }
  for (int tries = 0; tries < 10000; tries++) {
    struct timespec pause = {0, 1000000};
    nanosleep(&pause, NULL);
    result = (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0);
    if (result >= 0 || (errno != EMFILE && errno != ENFILE)) break;
  }
  return result;
}

int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  int result = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  if (result < 0 && errno == EMFILE) result = open_worker(path, flags);
  if (result >= 0 || (errno != ENOENT && errno != EACCES)) return result;
  int reason = errno;
  result = worker_status(path);
  if (result < 0) errno = reason;
  return result;
}
