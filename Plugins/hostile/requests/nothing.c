/* No downloads, which is a fine answer; and a status that isn't.
 *
 * H120: No downloads is a fine answer.
 *   run
 *   with --wall 5s
 *   expect returned 0/0
 */
#include "requests.h"

BEHAVIOUR { return UNUSED, (void)host, BA_OK; }
