#ifndef CPROGRAMS_H
#define CPROGRAMS_H

/* open(2) for the programs of this package, which may run out of descriptors: libdispatch ends a process that can't look at its
   workers (ol_worker.h). In no library: a program that embeds one keeps its own. */
int open(const char *path, int flags, ...);

#endif
