/* What the behaviours share. Each exported function is one behaviour of a few lines, named by its id.
 *
 * A function that attempts something returns the errno of the attempt: 0 says that it worked. Whether it should have is
 * in expected.tsv. A function that returns nothing isn't expected to come back.
 */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define MIB ((size_t)1 << 20)

static inline int32_t outcome(long result) { return result < 0 ? errno : 0; }

/* The same for a call that gives a descriptor. */
static inline int32_t opened(long descriptor) {
  int code = outcome(descriptor);
  if (descriptor >= 0) close((int)descriptor);
  return code;
}

/* Opens a path, making a file where `flags` say so, and closes it again. */
static inline int32_t open_for(int flags, const char *path) { return opened(open(path, flags | O_CLOEXEC, 0600)); }

static inline void touch(void *memory, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 4096) ((volatile char *)memory)[at] = 1;
}

static inline void wait_forever(void) {
  for (;;) pause();
}

/* Paths that stay valid until the next call on the same thread: in the container (the only place that may be written),
   in the scratch directory, and the library's own file (which may only be read). */
const char *in_container(const char *name);
const char *in_scratch(const char *name);
const char *own_file(void);

/* Makes a file in the container of so many bytes of zero, really written; returns its descriptor or -1. */
int big_file(const char *name, size_t bytes);

#endif
