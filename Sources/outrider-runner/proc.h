#ifndef PROC_H
#define PROC_H

#include <unistd.h>

/* What libraries ask /proc for, and can't do without, where there is none. */

/* readlink(2), for what is loaded into a runner: Foundation finds the main bundle by the executable's path, which it asks for once, when
   it is loaded. Apple's CoreFoundation takes it from CFProcessPath where that is set; this does the same for the one on Linux. */
ssize_t readlink(const char *restrict path, char *restrict buffer, size_t capacity);

/* open(2), for what is loaded into a runner: libdispatch, which looks at its workers (ol_worker.h), is told that they sleep. Then it
   makes more of them, one at a time, and blocks that wait for each other never wait for ever. */
int open(const char *path, int flags, ...);

#endif
