/* Writes files that aren't libraries, most of them made from one that is. Usage: make-broken LIBRARY DIRECTORY */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *directory;

static void save(const char *name, const void *bytes, size_t size) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.so", directory, name);
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) { perror(path); exit(1); }
}

int main(int count, char **arguments) {
  if (count != 3) return fprintf(stderr, "usage: make-broken LIBRARY DIRECTORY\n"), 64;
  directory = arguments[2];
  FILE *file = fopen(arguments[1], "rb");
  static unsigned char bytes[8 << 20], changed[8 << 20], garbage[65536];
  const size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
  if (size < 4096 || size == sizeof bytes) return fprintf(stderr, "%s can't be used\n", arguments[1]), 1;
  fclose(file);

  /* H111: breaks off after the headers */
  save("truncated", bytes, 2048);
  /* H111: a good header, then nothing that makes sense */
  unsigned state = 1;
  for (size_t n = 0; n < sizeof garbage; n++) garbage[n] = (unsigned char)((state = state * 1103515245u + 12345u) >> 16);
  memcpy(garbage, bytes, sizeof(Elf64_Ehdr));
  save("garbage", garbage, sizeof garbage);
  /* H111: no bytes at all */
  save("empty", "", 0);
  /* H111: a linker script, as some system libraries are */
  static const char text[] = "/* GNU ld script */\nGROUP ( /etc/shadow )\n";
  save("text", text, sizeof text - 1);

#define CHANGED(name, change)                \
  do {                                       \
    memcpy(changed, bytes, size);            \
    Elf64_Ehdr *header = (void *)changed;    \
    Elf64_Phdr *segments = (void *)(changed + header->e_phoff); \
    (void)segments;                          \
    change;                                  \
    save(name, changed, size);               \
  } while (0)
  /* H111: says that it is of 32 bits */
  CHANGED("wrong-class", header->e_ident[EI_CLASS] = ELFCLASS32);
  /* H111: says that it is for another processor */
  CHANGED("wrong-machine", header->e_machine = header->e_machine == EM_AARCH64 ? EM_X86_64 : EM_AARCH64);
  /* H111: a segment that wants nearly the whole address space */
  CHANGED("huge-memsz", for (int n = 0; n < header->e_phnum; n++) if (segments[n].p_type == PT_LOAD && segments[n].p_flags & PF_W)
                            segments[n].p_memsz = UINT64_C(1) << 46);
  /* H111: more segments than the file has room for */
  CHANGED("bad-phdr", (header->e_phoff = size - 16, header->e_phnum = 0xfffe));
  return 0;
}
