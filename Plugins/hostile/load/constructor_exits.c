/* A constructor that ends the process.
 *
 * H77: Exit status 0 while loading is no success.
 *   run
 *   expect crashed|loadFailed
 */
#include "plugin.h"

EXTENSION(three_downloads)

static __attribute__((constructor)) void begin(void) { _exit(0); }
