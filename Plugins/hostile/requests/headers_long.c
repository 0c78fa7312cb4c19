/* A request that is larger than anything that it could ask for.
 *
 * H88: Rejected by name and reason; the sound one beside it is accepted.
 *   run
 *   with --wall 5s
 *   expect returned 1/1
 */
#include "requests.h"

BEHAVIOUR {
  static char value[1000];
  ba_header headers[64];
  ba_download download = sound("headers");
  UNUSED;
  memset(value, 'v', sizeof value);
  for (int index = 0; index < 64; index++) headers[index] = (ba_header){{"X", 1}, {value, sizeof value}};
  download.http_headers = headers;
  download.http_header_count = 64;
  return with_sound(host, &download);
}
