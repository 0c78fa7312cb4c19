/* Writes libraries that are none, made from a sound one: make_broken SOUND.so DIRECTORY. The same input gives the same
   files. What each is wrong in is its name. */
#include "broken/broken.h"

#include <stdio.h>
#include <stdlib.h>

static const char *directory;
unsigned char *sound, *copy;
size_t size;

void save(const char *name, const void *bytes, size_t length) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.so", directory, name);
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(bytes, 1, length, file) != length || fclose(file) != 0) {
    perror(path);
    exit(1);
  }
}

Elf64_Ehdr *header(void) { return memcpy(copy, sound, size), (Elf64_Ehdr *)copy; }
Elf64_Phdr *segments(void) { return (Elf64_Phdr *)(copy + header()->e_phoff); }

Elf64_Phdr *segment(uint32_t type, int skip) {
  Elf64_Phdr *all = segments();
  for (int index = 0; index < ((Elf64_Ehdr *)copy)->e_phnum; index++)
    if (all[index].p_type == type && skip-- == 0) return &all[index];
  fprintf(stderr, "make_broken: the sound library has no segment of type %u\n", type);
  exit(1);
}

Elf64_Dyn *dynamic(int64_t tag) {
  Elf64_Dyn *entry = (Elf64_Dyn *)(copy + segment(PT_DYNAMIC, 0)->p_offset);
  while (entry->d_tag != tag && entry->d_tag != DT_NULL) entry++;
  return entry;
}

int main(int count, char **arguments) {
  if (count != 3) return fprintf(stderr, "usage: make_broken SOUND.so DIRECTORY\n"), 64;
  FILE *file = fopen(arguments[1], "rb");
  directory = arguments[2];
  if (!file || fseek(file, 0, SEEK_END) != 0 || ftell(file) < 4096) return perror(arguments[1]), 1;
  size = (size_t)ftell(file);
  rewind(file);
  sound = malloc(size);
  copy = malloc(size);
  if (!sound || !copy || fread(sound, 1, size, file) != size) return perror(arguments[1]), 1;
  fclose(file);
  headers();
  loads();
  tables();
  bodies();
  flips();
  return 0;
}
