/* A struct that is too small, and none at all.
 *
 * H117: answer() refuses it.
 *   run
 *   with --wall 5s
 *   expect returned 1/0
 */
#include "requests.h"

BEHAVIOUR {
  ba_download download = sound("small");
  download.size = 8;
  return UNUSED, with_sound(host, &download) == BA_FAILED ? BA_OK : BA_FAILED;
}
