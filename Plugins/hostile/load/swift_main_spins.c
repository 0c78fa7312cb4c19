/* H03: says that it is written in Swift; its main never returns. */
#include "../plugin.h"

EXTENSION(three_downloads)
EXPORT void background_assets_swift_extension(void) {}
EXPORT int main(void) {
  for (volatile unsigned turns = 0;; turns++) {
  }
}
