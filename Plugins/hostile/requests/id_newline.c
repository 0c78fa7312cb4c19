/* Identifiers that would do harm in a terminal, in a log or as a file's name.
 *
 * H89: Rejected by name and reason; the sound one beside it is accepted.
 *   run
 *   with --wall 5s
 *   expect returned 1/1
 */
#include "requests.h"

BEHAVIOUR { return UNUSED, with_identifier(host, "one\nERROR forged line", 21); }
