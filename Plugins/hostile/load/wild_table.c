/* A table at an address that isn't memory.
 *
 * H117: In the child only.
 *   run
 *   expect crashed
 */
#include "plugin.h"

EXPORT const ba_extension *background_assets_extension(uint32_t version) {
  return (const ba_extension *)(uintptr_t)(0x1000 + version - version);
}
