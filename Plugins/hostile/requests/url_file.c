/* URLs that aren't fetched.
 *
 * H86: Rejected by name and reason; the sound one beside it is accepted.
 *   run
 *   with --wall 5s
 *   expect returned 1/1
 */
#include "requests.h"

BEHAVIOUR { return UNUSED, with_url(host, "file:///etc/shadow"); }
