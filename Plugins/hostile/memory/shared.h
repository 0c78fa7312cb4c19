/* What the behaviours of this folder share. */
#ifndef HOSTILE_MEMORY_H
#define HOSTILE_MEMORY_H

#include "hostile.h"

int32_t h24_leak(void);

#define MUCH (64 * MIB)

static inline void *map(size_t bytes, int protection, int flags, int file) {
  void *memory = mmap(NULL, bytes, protection, flags, file, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

static inline void *anonymous(size_t bytes) { return map(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1); }

static inline int32_t fill(void *memory, size_t bytes) {
  if (!memory) return errno;
  touch(memory, bytes);
  return 0;
}

/* As big_file, but what is written reaches the disk MiB by MiB: in a memory cgroup of version 1 the kernel may end a process that
   makes pages dirty faster than a busy disk takes them, and that isn't what is tried. */
static inline int clean_file(const char *name, size_t bytes) {
  static const char block[65536];
  int file = big_file(name, 0);
  for (size_t done = 0; file >= 0 && done < bytes; done += sizeof block) {
    if (write(file, block, sizeof block) == sizeof block && (done % (1 << 20) || fdatasync(file) == 0)) continue;
    close(file);
    return -1;
  }
  return file;
}

#endif
