#ifndef SENDFILE_H
#define SENDFILE_H

#include <sys/types.h>

/* sendfile(2) by read and write, for what is loaded into a runner: the call itself is refused there, because into a pipe it
   leaves pages that nothing counts. Foundation copies files by it and knows no other way. */
ssize_t sendfile(int out, int in, off_t *offset, size_t count);
ssize_t sendfile64(int out, int in, off64_t *offset, size_t count);

#endif
