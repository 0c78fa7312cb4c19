/* A length that isn't backed by memory: the runner reads beyond it and crashes, the host doesn't.
 *
 * H89: The runner may crash, the host doesn't.
 *   run
 *   with --wall 5s
 *   expect crashed|returned 1/1
 */
#include "requests.h"

BEHAVIOUR { return UNUSED, with_identifier(host, "short", (size_t)1 << 40); }
