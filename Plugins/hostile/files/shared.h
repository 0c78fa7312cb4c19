/* What the behaviours of this folder share. */
#ifndef HOSTILE_FILES_H
#define HOSTILE_FILES_H

#include "hostile.h"

static inline int32_t follow(const char *target, int flags, const char *name) {
  unlink(in_container(name));
  if (symlink(target, in_container(name)) < 0) return errno;
  int32_t code = open_for(flags, in_container(name));
  unlink(in_container(name));
  return code;
}

#endif
