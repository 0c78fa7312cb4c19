/* Callback, plugin, callback, … as deep as the host lets it. Needs something scheduled, which only another entry point
 * can do: `download_failed` schedules and then recurses.
 *
 * H16: Nothing is scheduled, so there is nothing to recurse through; download_failed schedules and then recurses until the depth limit.
 *   run
 *   with --wall 5s
 *   expect returned 1/0
 */
#include "requests.h"

BEHAVIOUR {
  host->current_downloads(host, visit, (void *)(uintptr_t)host);
  return UNUSED, answer_sound(host, "sound");
}
