/* Ends one that never began.
 *
 * H70: More ends than beginnings.
 *   run
 *   expect protocolViolation
 */
#include "requests.h"

BEHAVIOUR {
  host->end_activity(host);
  return UNUSED, answer_sound(host, "sound");
}
