/* Cancels what it never scheduled: 101.
 *
 * H16: Refused with 101: the returned status is 0.
 *   run
 *   with --wall 5s
 *   expect returned 1/0
 */
#include "requests.h"

BEHAVIOUR {
  ba_status status = host->cancel(host, ba_text("someone-else"));
  answer_sound(host, "sound");
  return UNUSED, status == BA_DOWNLOAD_NOT_SCHEDULED ? BA_OK : BA_FAILED;
}
