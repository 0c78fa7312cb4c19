/* H03: DT_INIT, which comes before the constructors (linked with -init). */
#include "../plugin.h"

EXTENSION(three_downloads)

EXPORT void begin(void) {
  for (volatile unsigned turns = 0;; turns++) {
  }
}
