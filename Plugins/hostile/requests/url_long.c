/* URLs that aren't fetched.
 *
 * H87: Rejected by name and reason; the sound one beside it is accepted.
 *   run
 *   with --wall 5s
 *   expect returned 1/1
 */
#include "requests.h"

BEHAVIOUR {
  static char url[65536] = BASE;
  memset(url + strlen(url), 'u', sizeof url - strlen(url) - 1);
  return UNUSED, with_url(host, url);
}
