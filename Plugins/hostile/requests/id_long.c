/* Identifiers that would do harm in a terminal, in a log or as a file's name.
 *
 * H89: Rejected by name and reason; the sound one beside it is accepted.
 *   run
 *   with --wall 5s
 *   expect returned 1/1
 */
#include "requests.h"

BEHAVIOUR {
  static char name[65536];
  memset(name, 'n', sizeof name);
  return UNUSED, with_identifier(host, name, sizeof name);
}
