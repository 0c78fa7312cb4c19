/* Essential whatever it was asked for; run it with `--request periodic`.
 *
 * H89: With --request periodic: rejected with 109. With install: 2/0.
 *   run
 *   with --request periodic
 *   expect returned 1/1
 */
#include "requests.h"

BEHAVIOUR {
  ba_download download = sound("essential");
  download.flags = BA_DOWNLOAD_ESSENTIAL;
  return UNUSED, with_sound(host, &download);
}
