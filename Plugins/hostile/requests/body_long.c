/* A request that is larger than anything that it could ask for.
 *
 * H88: Rejected by name and reason; the sound one beside it is accepted.
 *   run
 *   with --wall 5s
 *   expect returned 1/1
 */
#include "requests.h"

BEHAVIOUR {
  static char body[1 << 20];
  ba_download download = sound("body");
  download.http_body.bytes = body;
  download.http_body.length = sizeof body;
  return UNUSED, with_sound(host, &download);
}
