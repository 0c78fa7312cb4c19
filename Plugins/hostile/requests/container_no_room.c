/* A buffer that is too small, and none.
 *
 * H117: Nothing is written beyond the buffer.
 *   run
 *   with --wall 5s
 *   expect returned 1/0
 */
#include "requests.h"

BEHAVIOUR {
  char small[2] = "x";
  size_t length = 0;
  ba_status status = host->container_path(host, ba_text(GROUP), small, 1, &length);
  host->container_path(host, ba_text(GROUP), NULL, 0, NULL);
  answer_sound(host, "sound");
  return UNUSED, status == BA_FAILED && small[0] == 'x' && length > 0 ? BA_OK : 1;
}
