/* A struct that is too small, and none at all.
 *
 * H117: answer() refuses it.
 *   run
 *   with --wall 5s
 *   expect returned 1/0
 */
#include "requests.h"

BEHAVIOUR { return UNUSED, with_sound(host, NULL) == BA_FAILED ? BA_OK : BA_FAILED; }
