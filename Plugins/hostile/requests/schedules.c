/* Not allowed while a content request runs: 50.
 *
 * H16: Refused with 50: the returned status is 0.
 *   run
 *   with --wall 5s
 *   expect returned 1/0
 */
#include "requests.h"

BEHAVIOUR {
  ba_download download = sound("scheduled");
  ba_status status = host->schedule(host, &download);
  answer_sound(host, "sound");
  return UNUSED, status == BA_CALL_FROM_EXTENSION_NOT_ALLOWED ? BA_OK : BA_FAILED;
}
