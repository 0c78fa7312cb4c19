/* From an entry point.
 *
 * H01: What it answered before is no success.
 *   run
 *   with --wall 300ms
 *   expect wallTimeExceeded
 */
#include "requests.h"

BEHAVIOUR {
  UNUSED;
  answer_sound(host, "sound");
  for (volatile unsigned turns = 0;; turns++) {
  }
}
