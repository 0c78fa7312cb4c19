#include "ol_libraries.h"

#include <dlfcn.h>
#include <string.h>

enum { MOST_LIBRARIES = 256, NAMES_SIZE = 16 << 10 };

struct noted {
  uintptr_t start, end, base;
  const ElfW(Dyn) *dynamic;
  const char *name;
};

/* In the program's own data, which lies before what malloc gives. */
static struct noted noted[MOST_LIBRARIES];
static size_t count;
static char names[NAMES_SIZE];
static size_t names_end;

static const char *last_component(const char *path) {
  const char *slash = path ? strrchr(path, '/') : NULL;
  return slash ? slash + 1 : path ? path : "";
}

static int note(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size, (void)context;
  struct noted *entry = &noted[count];
  *entry = (struct noted){.start = UINTPTR_MAX, .base = info->dlpi_addr};
  for (int index = 0; index < info->dlpi_phnum; index++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[index];
    uintptr_t start = info->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_DYNAMIC) entry->dynamic = (const ElfW(Dyn) *)start;
    if (part->p_type != PT_LOAD) continue;
    if (start < entry->start) entry->start = start;
    if (start + part->p_memsz > entry->end) entry->end = start + part->p_memsz;
  }
  const char *name = last_component(info->dlpi_name);
  size_t length = strlen(name) + 1;
  if (entry->start >= entry->end || length > NAMES_SIZE - names_end) return 0;
  entry->name = memcpy(names + names_end, name, length);
  names_end += length;
  return ++count == MOST_LIBRARIES;
}

void ol_note_libraries(void) {
  count = 0;
  names_end = 0;
  dl_iterate_phdr(note, NULL);
}

int ol_find_noted_library(uintptr_t address, struct ol_library *library) {
  for (size_t index = 0; index < count; index++) {
    const struct noted *entry = &noted[index];
    if (address < entry->start || address >= entry->end) continue;
    *library = (struct ol_library){entry->name, entry->base, entry->start, entry->dynamic};
    return 1;
  }
  return 0;
}

int ol_find_library(uintptr_t address, struct ol_library *library) {
  if (ol_find_noted_library(address, library)) return 1;
#if __GLIBC_PREREQ(2, 35)
  struct dl_find_object found;
  if (_dl_find_object((void *)address, &found) == 0) {
    const struct link_map *map = found.dlfo_link_map;
    *library = (struct ol_library){last_component(map->l_name), map->l_addr, (uintptr_t)found.dlfo_map_start, map->l_ld};
    return 1;
  }
#endif
  return 0;
}
