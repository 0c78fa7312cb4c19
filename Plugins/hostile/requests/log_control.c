/* Control characters in the log, and a message of 1 GiB that isn't there.
 *
 * H14: Nothing that a terminal obeys reaches one, and no line is forged.
 *   run
 *   with --wall 5s
 *   expect returned 1/0
 */
#include "requests.h"

BEHAVIOUR {
  UNUSED;
  say(host, "\x1b[31mred\x1b[0m \x1b]52;c;ZXZpbA==\a\r\nERROR a forged line \xe2\x80\xae gnihtyna");
  host->log(host, 12345, ba_text("\x1b[2J"), ba_text("\n"), ba_text("\xff\xfe"));
  return answer_sound(host, "sound");
}
