/* A constructor that waits for ever, without using CPU time.
 *
 * H03: While loading.
 *   run
 *   with --wall 300ms
 *   expect wallTimeExceeded
 */
#include "plugin.h"

EXTENSION(three_downloads)

static __attribute__((constructor)) void begin(void) { wait_forever(); }
