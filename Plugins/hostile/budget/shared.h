/* What the behaviours of this folder share. */
#ifndef HOSTILE_BUDGET_H
#define HOSTILE_BUDGET_H

#include "hostile.h"

#include <time.h>

static inline void burn(double length) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const double end = (double)now.tv_sec + (double)now.tv_nsec / 1e9 + length;
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while ((double)now.tv_sec + (double)now.tv_nsec / 1e9 < end);
}

#endif
