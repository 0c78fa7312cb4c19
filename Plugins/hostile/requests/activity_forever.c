/* Begins an activity that never ends: the call's clocks go on.
 *
 * H15: The call's clocks go on.
 *   run
 *   with --wall 1s
 *   expect wallTimeExceeded
 */
#include "requests.h"

BEHAVIOUR {
  host->begin_activity(host);
  return UNUSED, answer_sound(host, "sound");
}
