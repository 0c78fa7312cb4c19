/* A destructor, an exit handler and DT_FINI that would never return: no end of a run calls them, and what was answered counts.
 *
 * H04: None of them runs: the run ends with its process, by SIGKILL.
 *   run
 *   expect returned 3/0
 */
#include "plugin.h"

EXTENSION(three_downloads)

static __attribute__((constructor)) void begin(void) { atexit(wait_forever); }
static __attribute__((destructor)) void end(void) { wait_forever(); }
EXPORT void finish(void) { wait_forever(); }
