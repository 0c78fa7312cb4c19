/* No downloads, which is a fine answer; and a status that isn't.
 *
 * H117: The status -77 is reported, and isn't success.
 *   run
 *   with --wall 5s
 *   expect returned 1/0
 */
#include "requests.h"

BEHAVIOUR { return answer_sound(host, "sound"), UNUSED, -77; }
