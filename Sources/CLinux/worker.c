#include "ol_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int ol_worker_of(const char *path) {
    int worker = 0, length = 0;
    if (sscanf(path, "/proc/%d/stat%n", &worker, &length) != 1 || length == 0 || path[length] != 0) return 0;
    return worker;
}

int ol_open_worker(const char *path, int flags) {
    int result = -1;
    if (ol_worker_of(path) == 0) {
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
