/* No table at all, which is how an extension refuses a host.
 *
 * H117: It refuses the host.
 *   run
 *   expect loadFailed
 */
#include "plugin.h"

EXPORT const ba_extension *background_assets_extension(uint32_t version) {
  (void)version;
  return NULL;
}
