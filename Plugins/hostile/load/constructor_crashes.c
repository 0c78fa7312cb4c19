/* A constructor that crashes.
 *
 * H78: While loading.
 *   run
 *   expect crashed
 */
#include "plugin.h"

EXTENSION(three_downloads)

static __attribute__((constructor)) void begin(void) { *(volatile int *)8 = 1; }
