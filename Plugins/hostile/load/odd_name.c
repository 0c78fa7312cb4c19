/* A name that is long, hostile to terminals and no text.
 *
 * H117: The name is shown short and harmless.
 *   run
 *   expect returned 3/0
 */
#include "plugin.h"

EXPORT const ba_extension *background_assets_extension(uint32_t version) {
  static char name[100000] = "\x1b]0;owned\a\n\xff\xe2\x80\xae";
  static const ba_entry_point entries[] = {ENTRY(BA_CONTENT_REQUEST, BA_CONTENT_REQUEST_SIGNATURE, three_downloads)};
  static const ba_extension extension = {sizeof extension, BA_ABI_VERSION, name, entries, 1};
  (void)version;
  memset(name + strlen(name), 'n', sizeof name - strlen(name) - 1);
  return &extension;
}
