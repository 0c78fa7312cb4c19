/* H116: refuses every host */
#include "hostile.h"
#include "background_assets_extension.h"
BA_EXPORT const ba_extension *background_assets_extension(uint32_t host_abi_version) { (void)host_abi_version; return NULL; }
