/* A signature that isn't one.
 *
 * H117: No signature.
 *   run
 *   expect loadFailed
 */
#include "plugin.h"

EXPORT const ba_extension *background_assets_extension(uint32_t version) {
  static const ba_entry_point entries[] = {ENTRY("mystery", "i32(((((out(99999999999999999999),", three_downloads)};
  static const ba_extension extension = {sizeof extension, BA_ABI_VERSION, "odd signature", entries, 1};
  (void)version;
  return &extension;
}
