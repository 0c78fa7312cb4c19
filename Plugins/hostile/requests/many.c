/* 100,000 downloads.
 *
 * H23: At most 10,000 are taken, and what comes after them is refused by name.
 *   run
 *   with --memory 64MiB
 *   expect returned|memoryExceeded 10000/1
 */
#include "requests.h"

BEHAVIOUR {
  char name[32];
  UNUSED;
  for (int index = 0; index < 100000; index++) {
    snprintf(name, sizeof name, "n%d", index);
    if (answer_sound(host, name) != BA_OK) return index;
  }
  return BA_OK;
}
