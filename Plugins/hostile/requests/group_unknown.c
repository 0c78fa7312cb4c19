/* A group that it isn't a member of.
 *
 * H89: Rejected where the bundle names groups; a bare library has the one container.
 *   run
 *   with --wall 5s
 *   expect returned 2/0|1/1
 */
#include "requests.h"

BEHAVIOUR {
  ba_download download = sound("odd-group");
  download.application_group_identifier = ba_text("group.com.example.someone-else");
  return UNUSED, with_sound(host, &download);
}
