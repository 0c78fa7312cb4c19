/* H117: fewer arguments than the entry point has */
#include "hostile.h"
#include "background_assets_extension.h"
static ba_status content_request(const ba_host *host, const ba_content_request *request) { return host && request ? BA_OK : BA_FAILED; }
static const ba_entry_point entries[] = {{BA_CONTENT_REQUEST, "void()", (void (*)(void))content_request}};
BA_EXPORT const ba_extension *background_assets_extension(uint32_t host_abi_version) {
  static const ba_extension extension = {sizeof extension, BA_ABI_VERSION, "wrong-signature", entries, 1};
  (void)host_abi_version;
  return &extension;
}
