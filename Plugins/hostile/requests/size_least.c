/* Sizes and priorities out of range.
 *
 * H88: Rejected by name and reason; the sound one beside it is accepted.
 *   run
 *   with --wall 5s
 *   expect returned 1/1
 */
#include "requests.h"

BEHAVIOUR { return UNUSED, with_size(host, INT64_MIN); }
