/* The same identifier twice; and one that differs by case alone, which is another.
 *
 * H89: The second of the same name is rejected; another case is another name.
 *   run
 *   with --wall 5s
 *   expect returned 2/1
 */
#include "requests.h"

BEHAVIOUR {
  UNUSED;
  answer_sound(host, "same");
  answer_sound(host, "same");
  return answer_sound(host, "SAME");
}
