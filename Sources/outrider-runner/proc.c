#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "ol_worker.h"

ssize_t readlink(const char *restrict path, char *restrict buffer, size_t capacity) {
    const char *executable = strcmp(path, "/proc/self/exe") == 0 ? getenv("CFProcessPath") : NULL;
    if (!executable) return syscall(SYS_readlinkat, AT_FDCWD, path, buffer, capacity);
    size_t length = strlen(executable);
    if (length > capacity) length = capacity;
    memcpy(buffer, executable, length);
    return (ssize_t)length;
}

/* As proc_pid_stat(5) has it, whose field 3 is the state. */
static int worker_status(const char *path) {
    int worker = ol_worker_of(path);
    if (worker == 0) return -1;
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

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    int result = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if (result < 0 && errno == EMFILE) result = ol_open_worker(path, flags);
    if (result >= 0 || (errno != ENOENT && errno != EACCES)) return result;
    int reason = errno;
    result = worker_status(path);
    if (result < 0) errno = reason;
    return result;
}
