#include "ol_loader.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

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

int ol_copy_to_memory(const char *path, int *copy) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno;
  *copy = memfd_create("copy", MFD_CLOEXEC);
  ssize_t count = *copy < 0 ? -1 : 1;
  while (count > 0) count = sendfile(*copy, file, NULL, 1 << 30);
  int error = count < 0 ? errno : 0;
  close(file);
  return error;
}
