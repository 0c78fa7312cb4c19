/* A million messages of 4 KiB.
 *
 * H14: The log is cut off and counted; the host's memory doesn't grow.
 *   run
 *   with --wall 2s
 *   expect wallTimeExceeded|returned 1/0
 */
#include "requests.h"

BEHAVIOUR {
  static char text[4097];
  UNUSED;
  memset(text, 'l', sizeof text - 1);
  for (int index = 0; index < 1000000; index++) say(host, text);
  return answer_sound(host, "sound");
}
