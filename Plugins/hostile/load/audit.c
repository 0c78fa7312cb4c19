/* H112: names an auditing library (DT_AUDIT, DT_DEPAUDIT), which the loader honours for programs alone. Canary:
   `evil-canary` in the container. */
#include "../plugin.h"

EXTENSION(three_downloads)
