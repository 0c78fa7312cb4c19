/* Writes libraries that are none, made from a sound one: make_broken SOUND.so DIRECTORY. The same input gives the same
   files. What each is wrong in is its name. */
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *directory;
static unsigned char *sound, *copy;
static size_t size;

static void save(const char *name, const void *bytes, size_t length) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.so", directory, name);
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(bytes, 1, length, file) != length || fclose(file) != 0) {
    perror(path);
    exit(1);
  }
}

static Elf64_Ehdr *header(void) { return memcpy(copy, sound, size), (Elf64_Ehdr *)copy; }
static Elf64_Phdr *segments(void) { return (Elf64_Phdr *)(copy + header()->e_phoff); }

static Elf64_Phdr *segment(uint32_t type, int skip) {
  Elf64_Phdr *all = segments();
  for (int index = 0; index < ((Elf64_Ehdr *)copy)->e_phnum; index++)
    if (all[index].p_type == type && skip-- == 0) return &all[index];
  fprintf(stderr, "make_broken: the sound library has no segment of type %u\n", type);
  exit(1);
}

static Elf64_Dyn *dynamic(int64_t tag) {
  Elf64_Dyn *entry = (Elf64_Dyn *)(copy + segment(PT_DYNAMIC, 0)->p_offset);
  while (entry->d_tag != tag && entry->d_tag != DT_NULL) entry++;
  return entry;
}

/* Changes one thing and saves. */
#define BROKEN(name, change)     \
  do {                           \
    change;                      \
    save(name, copy, size);      \
  } while (0)

static void headers(void) {
  BROKEN("class-32", header()->e_ident[EI_CLASS] = ELFCLASS32);
  BROKEN("big-endian", header()->e_ident[EI_DATA] = ELFDATA2MSB);
  BROKEN("ident-version", header()->e_ident[EI_VERSION] = 99);
  BROKEN("os-abi", header()->e_ident[EI_OSABI] = 0xff);
  BROKEN("machine-arm", header()->e_machine = EM_AARCH64);
  BROKEN("machine-i386", header()->e_machine = EM_386);
  BROKEN("type-core", header()->e_type = ET_CORE);
  BROKEN("type-executable", header()->e_type = ET_EXEC);
  BROKEN("no-segments", header()->e_phnum = 0);
  BROKEN("segments-65535", header()->e_phnum = 0xffff);
  BROKEN("segment-size", header()->e_phentsize = 1);
  BROKEN("segments-beyond", header()->e_phoff = (uint64_t)1 << 40);
  BROKEN("segments-odd", header()->e_phoff = 3);
  BROKEN("sections-beyond", header()->e_shoff = UINT64_MAX - 8);
}

static void loads(void) {
  BROKEN("huge-memsz", segment(PT_LOAD, 0)->p_memsz = (uint64_t)1 << 62);
  BROKEN("wide-memsz", segment(PT_LOAD, 3)->p_memsz = (uint64_t)64 << 30);
  BROKEN("filesz-beyond", segment(PT_LOAD, 1)->p_filesz = segment(PT_LOAD, 1)->p_memsz = (uint64_t)1 << 30);
  BROKEN("filesz-above-memsz", segment(PT_LOAD, 1)->p_memsz = 1);
  BROKEN("offset-beyond", segment(PT_LOAD, 1)->p_offset = (uint64_t)1 << 40);
  BROKEN("negative-address", segment(PT_LOAD, 1)->p_vaddr = UINT64_MAX - 0xfff);
  BROKEN("overlapping", segment(PT_LOAD, 2)->p_vaddr = 0);
  BROKEN("alignment", segment(PT_LOAD, 1)->p_align = 3);
  BROKEN("writable-code", segment(PT_LOAD, 1)->p_flags = PF_R | PF_W | PF_X);
  BROKEN("no-load", segment(PT_LOAD, 0)->p_type = PT_NULL);
  BROKEN("no-dynamic", segment(PT_DYNAMIC, 0)->p_type = PT_NULL);
  BROKEN("dynamic-beyond", segment(PT_DYNAMIC, 0)->p_vaddr = (uint64_t)1 << 40);
  BROKEN("stack-executable", segment(PT_GNU_STACK, 0)->p_flags = PF_R | PF_W | PF_X);
}

static void tables(void) {
  BROKEN("strings-beyond", dynamic(DT_STRTAB)->d_un.d_ptr = (uint64_t)1 << 40);
  BROKEN("symbols-beyond", dynamic(DT_SYMTAB)->d_un.d_ptr = (uint64_t)1 << 40);
  BROKEN("relocations-4g", dynamic(DT_RELASZ)->d_un.d_val = (uint64_t)24 << 32);
  BROKEN("hash-beyond", dynamic(DT_GNU_HASH)->d_un.d_ptr = (uint64_t)1 << 40);
  BROKEN("init-beyond", dynamic(DT_INIT)->d_un.d_ptr = (uint64_t)1 << 40);
  BROKEN("init-array-4g", dynamic(DT_INIT_ARRAYSZ)->d_un.d_val = (uint64_t)8 << 32);
  BROKEN("needed-beyond", dynamic(DT_NEEDED)->d_un.d_val = UINT32_MAX);
  BROKEN("name-beyond", dynamic(DT_SONAME)->d_un.d_val = UINT32_MAX);
}

static void bodies(void) {
  static const char script[] = "#!/bin/sh\necho this is no library\n";
  static const char linker[] = "/* GNU ld script */\nINPUT ( /etc/shadow -lc )\n";
  save("empty", "", 0);
  save("text", script, sizeof script - 1);
  save("linker-script", linker, sizeof linker - 1);
  save("magic-only", sound, 4);
  save("half-header", sound, 40);
  save("header-only", sound, sizeof(Elf64_Ehdr));
  save("half-file", sound, size / 2);
  save("without-end", sound, size - 1);
  memset(copy, 0xff, size);
  save("all-ones", copy, size);
  header();
  memset(copy + sizeof(Elf64_Ehdr), 0xa5, size - sizeof(Elf64_Ehdr));
  save("garbage-after-header", copy, size);
}

/* One byte in about 200 is another, from a fixed sequence (xorshift64). */
static void flips(void) {
  for (unsigned variant = 0; variant < 24; variant++) {
    uint64_t state = 0x9e3779b97f4a7c15u + variant;
    char name[32];
    header();
    /* The first variants spare the header, so that more than its checks are reached. */
    for (size_t at = variant < 16 ? sizeof(Elf64_Ehdr) : 0; at < size; at++) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      if (state % 200 == 0) copy[at] ^= (unsigned char)(state >> 32);
    }
    snprintf(name, sizeof name, "flips-%02u", variant);
    save(name, copy, size);
  }
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
