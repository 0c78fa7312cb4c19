/* Headers that aren't there, and more than anyone needs.
 *
 * H87: Never sent as they are: headers with line ends are rejected here or at the transfer.
 *   run
 *   with --wall 5s
 *   expect returned 2/0|1/1
 */
#include "requests.h"

BEHAVIOUR {
  static const ba_header headers[] = {{{"X-One\r\nX-Two", 12}, {"1\r\n\r\nbody", 9}}, {{"Host", 4}, {"evil.example", 12}}};
  ba_download download = sound("headers");
  download.http_headers = headers;
  download.http_header_count = 2;
  return UNUSED, with_sound(host, &download);
}
