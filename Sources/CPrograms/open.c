#include "CPrograms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ol_worker.h"

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    int result = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    return result < 0 && errno == EMFILE ? ol_open_worker(path, flags) : result;
}
