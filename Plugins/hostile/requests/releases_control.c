/* Gives back what it never took, many times.
 *
 * H75: Harmless.
 *   run
 *   with --wall 5s
 *   expect returned 1/0
 */
#include "requests.h"

BEHAVIOUR {
  UNUSED;
  for (int index = 0; index < 1000; index++) host->release_exclusive_control(host);
  return answer_sound(host, "sound");
}
