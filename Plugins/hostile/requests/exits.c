/* From an entry point.
 *
 * H77: What it answered before is no success.
 *   run
 *   with --wall 5s
 *   expect crashed
 */
#include "requests.h"

BEHAVIOUR {
  UNUSED;
  answer_sound(host, "sound");
  _exit(0);
}
