/* H03: the entry symbol never returns */
#include "hostile.h"
#include "background_assets_extension.h"
BA_EXPORT const ba_extension *background_assets_extension(uint32_t host_abi_version) {
  for (volatile uint32_t n = host_abi_version;; n++) {}
}
