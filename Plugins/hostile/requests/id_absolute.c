/* Identifiers that would do harm in a terminal, in a log or as a file's name.
 *
 * H89: An identifier is no path: no file has its name.
 *   run
 *   with --wall 5s
 *   expect returned 2/0|1/1
 */
#include "requests.h"

BEHAVIOUR { return UNUSED, with_identifier(host, "/etc/passwd", 11); }
