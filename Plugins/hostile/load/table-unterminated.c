/* H71: a name of 60,000 bytes that ends where the memory does */
#include "hostile.h"
#include "background_assets_extension.h"
static ba_entry_point entries[1];
static ba_extension extension = {sizeof extension, BA_ABI_VERSION, NULL, entries, 0};
BA_EXPORT const ba_extension *background_assets_extension(uint32_t host_abi_version) {
  char *bytes = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  (void)host_abi_version;
  if (bytes == MAP_FAILED || mprotect(bytes + 61440, 4096, PROT_NONE) < 0) return NULL;
  memset(bytes, 'n', 61440);
  extension.name = bytes;
  return &extension;
}
