/* Says that it is written in Swift; its main never returns.
 *
 * H03: While its main registers.
 *   run
 *   with --wall 300ms
 *   expect wallTimeExceeded
 */
#include "plugin.h"

EXTENSION(three_downloads)
EXPORT void background_assets_swift_extension(void) {}
EXPORT int main(void) {
  for (volatile unsigned turns = 0;; turns++) {
  }
}
