/* Which library an address belongs to, for those who can't wait for the loader's lock nor believe its lists. */
#ifndef OL_LIBRARIES_H
#define OL_LIBRARIES_H

#include <link.h>
#include <stdint.h>

struct ol_library {
  /* The last component of its path; empty for the program itself. */
  const char *name;
  /* What its addresses are added to, and where it is mapped first. */
  uintptr_t base, start;
  const ElfW(Dyn) *dynamic;
};

/* Notes the libraries that are there now. The loader keeps its own list where malloc does, so that a plugin which writes beyond
   its memory writes over it. Takes the loader's lock; for the program's first thread. */
void ol_note_libraries(void);

/* Finds a library among those that were noted. Whether there is one; async-signal-safe. */
int ol_find_noted_library(uintptr_t address, struct ol_library *library);

/* Finds any library, by the loader's own tables where that wasn't noted. Whether there is one, and never where the C library has
   no such tables (before glibc 2.35); async-signal-safe, and a fault where a plugin wrote over them. */
int ol_find_library(uintptr_t address, struct ol_library *library);

#endif
