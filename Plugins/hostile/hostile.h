/* What every behaviour shares. DENY, CONTAIN and OK return 0 or an errno; KILL returns nothing. */
#ifndef HOSTILE_H
#define HOSTILE_H
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
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
#define MiB ((size_t)1 << 20)
/* The errno of an expression that is negative when it fails. */
#define TRY(expression) ((expression) < 0 ? errno : 0)

/* A file in the container; HOSTILE_DIRECTORY takes its place where there are no walls. A static buffer per thread. */
__attribute__((unused)) static const char *in_container(const char *name) {
  static __thread char path[4096];
  const char *directory = getenv("HOSTILE_DIRECTORY");
  snprintf(path, sizeof path, "%s/%s", directory ? directory : "/container", name);
  return path;
}

/* Writes to every page of `bytes`. */
__attribute__((unused)) static void touch(volatile char *bytes, size_t size) {
  for (size_t at = 0; at < size; at += 4096) bytes[at] = 1;
}

/* A file of `size` zero bytes that are really written, or a negative errno. */
__attribute__((unused)) static int written_file(const char *name, size_t size) {
  static const char block[65536];
  const int file = open(in_container(name), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return -errno;
  for (size_t done = 0; done < size; done += sizeof block)
    if (write(file, block, sizeof block) < 0) {
      const int code = errno;
      close(file);
      return -code;
    }
  return file;
}
#endif
