/* Takes exclusive control and never gives it back: the end of the wake does.
 *
 * H75: The end of the wake gives the control back.
 *   run
 *   with --wall 5s
 *   expect returned 1/0
 */
#include "requests.h"

BEHAVIOUR {
  ba_status status = host->acquire_exclusive_control(host, BA_NO_TIMEOUT);
  answer_sound(host, "sound");
  return UNUSED, status;
}
