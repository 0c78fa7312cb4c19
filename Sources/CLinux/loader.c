#include "ol_loader.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>

void *ol_load(const char *path, int deep, int global) {
  return dlopen(path, RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL) | (deep ? RTLD_DEEPBIND : 0));
}

const char *ol_loader_message(void) {
  const char *message = dlerror();
  return message ? message : "the loader gave no reason";
}

enum ol_symbol_kind ol_symbol(void *library, const char *name, void **address) {
  Dl_info info;
  const ElfW(Sym) *symbol = NULL;
  struct link_map *map = NULL;
  dlerror();
  *address = dlsym(library, name);
  if (!*address) return OL_SYMBOL_MISSING;
  if (!dladdr1(*address, &info, (void **)&symbol, RTLD_DL_SYMENT)) return OL_SYMBOL_DATA;
  /* An IFUNC resolves to code whose own symbol may be private: then there is no entry, and executable code it is. */
  if (symbol && ELF64_ST_TYPE(symbol->st_info) != STT_FUNC && ELF64_ST_TYPE(symbol->st_info) != STT_GNU_IFUNC)
    return OL_SYMBOL_DATA;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map && (void *)map->l_addr != info.dli_fbase)
    return OL_SYMBOL_FUNCTION_ELSEWHERE;
  return OL_SYMBOL_FUNCTION;
}

struct visit {
  void *context;
  void (*function)(void *, const char *);
};

static int visit_object(struct dl_phdr_info *info, size_t size, void *raw) {
  const struct visit *visit = raw;
  (void)size;
  if (info->dlpi_name && info->dlpi_name[0] == '/') visit->function(visit->context, info->dlpi_name);
  return 0;
}

void ol_loaded_objects(void *context, void (*function)(void *, const char *)) {
  struct visit visit = {context, function};
  dl_iterate_phdr(visit_object, &visit);
}

void ol_look_up_imports(void *library) {
  struct link_map *map;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return;
  const ElfW(Sym) *symbols = NULL;
  const char *strings = NULL;
  const ElfW(Rela) *tables[2] = {NULL, NULL};
  size_t sizes[2] = {0, 0};
  for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
    /* glibc has relocated the addresses in place, but for those of a read-only section, which there is none of here. */
    if (entry->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym) *)entry->d_un.d_ptr;
    if (entry->d_tag == DT_STRTAB) strings = (const char *)entry->d_un.d_ptr;
    if (entry->d_tag == DT_RELA) tables[0] = (const ElfW(Rela) *)entry->d_un.d_ptr;
    if (entry->d_tag == DT_RELASZ) sizes[0] = entry->d_un.d_val;
    if (entry->d_tag == DT_JMPREL) tables[1] = (const ElfW(Rela) *)entry->d_un.d_ptr;
    if (entry->d_tag == DT_PLTRELSZ) sizes[1] = entry->d_un.d_val;
  }
  if (!symbols || !strings) return;
  for (int table = 0; table < 2; table++)
    for (size_t index = 0; tables[table] && index < sizes[table] / sizeof(ElfW(Rela)); index++) {
      const ElfW(Sym) *symbol = &symbols[ELF64_R_SYM(tables[table][index].r_info)];
      if (symbol->st_shndx == SHN_UNDEF && symbol->st_name) (void)dlsym(RTLD_DEFAULT, strings + symbol->st_name);
    }
}
