/* A destructor, an exit handler and DT_FINI that never return: what was answered counts all the same.
 *
 * H04: The end of the run isn't held up; the report may say shutdown.
 *   run
 *   expect returned 3/0
 */
#include "plugin.h"

EXTENSION(three_downloads)

static __attribute__((constructor)) void begin(void) { atexit(wait_forever); }
static __attribute__((destructor)) void end(void) { wait_forever(); }
EXPORT void finish(void) { wait_forever(); }
