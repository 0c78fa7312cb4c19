/* Names an auditing library (DT_AUDIT, DT_DEPAUDIT), which the loader honours for programs alone. Canary:
 * `evil-canary` in the container.
 *
 * H112: Auditing libraries are for programs; canary: no evil-canary in the container.
 *   run
 *   expect returned 3/0
 */
#include "plugin.h"

EXTENSION(three_downloads)
