/* Headers that aren't there, and more than anyone needs.
 *
 * H117: In the child only.
 *   run
 *   with --wall 5s
 *   expect crashed
 */
#include "requests.h"

BEHAVIOUR {
  ba_download download = sound("headers");
  download.http_headers = (const ba_header *)16;
  download.http_header_count = 1000000;
  return UNUSED, with_sound(host, &download);
}
