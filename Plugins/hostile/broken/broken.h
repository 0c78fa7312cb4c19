/* How libraries are broken: each change starts from a copy of the sound one. */
#ifndef HOSTILE_BROKEN_H
#define HOSTILE_BROKEN_H

#include <elf.h>
#include <string.h>

extern unsigned char *sound, *copy;
extern size_t size;

/* Writes NAME.so. */
void save(const char *name, const void *bytes, size_t length);

/* A fresh copy: its header, its segments, the segment of a type after `skip` others, and the entry of the dynamic section. */
Elf64_Ehdr *header(void);
Elf64_Phdr *segments(void);
Elf64_Phdr *segment(uint32_t type, int skip);
Elf64_Dyn *dynamic(int64_t tag);

/* Changes one thing and saves. */
#define BROKEN(name, change)     \
  do {                           \
    change;                      \
    save(name, copy, size);      \
  } while (0)

void headers(void);
void loads(void);
void tables(void);
void bodies(void);
void flips(void);

#endif
