/* Time spent in the host is the plugin's time.
 *
 * H15: Time in the host is the plugin's.
 *   run
 *   with --wall 500ms
 *   expect wallTimeExceeded
 */
#include "requests.h"

BEHAVIOUR {
  UNUSED;
  for (;;) host->current_downloads(host, visit, (void *)(uintptr_t)host);
}
