#include "hostile.h"

#include <dlfcn.h>

static const char *in_directory(const char *variable, const char *fallback, const char *name) {
  static __thread char path[4096];
  const char *directory = getenv(variable);
  snprintf(path, sizeof path, "%s/%s", directory ? directory : fallback, name);
  return path;
}

const char *in_container(const char *name) { return in_directory("HOME", "/container", name); }
const char *in_scratch(const char *name) { return in_directory("TMPDIR", "/tmp", name); }

/* Without walls the attempts on this file would succeed, so a positive control names another one. Inside, the
   environment has no such name. */
const char *own_file(void) {
  static Dl_info info;
  const char *stand_in = getenv("HOSTILE_STAND_IN");
  if (stand_in) return stand_in;
  return dladdr((void *)(uintptr_t)own_file, &info) ? info.dli_fname : "/bundle/libhostile.so";
}

int big_file(const char *name, size_t bytes) {
  static const char block[65536];
  int file = open(in_container(name), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
  for (size_t done = 0; file >= 0 && done < bytes; done += sizeof block) {
    if (write(file, block, sizeof block) == sizeof block) continue;
    close(file);
    return -1;
  }
  return file;
}
