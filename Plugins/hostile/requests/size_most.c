/* Sizes and priorities out of range.
 *
 * H88: No sum of sizes overflows.
 *   run
 *   with --wall 5s
 *   expect returned 2/0|1/1
 */
#include "requests.h"

BEHAVIOUR { return UNUSED, with_size(host, INT64_MAX); }
