/* Downloads that are sound each and too long together for one answer. Says how many were refused.
 *
 * H23: What finds no room in an answer is refused one by one; the others are taken.
 *   run
 *   with --memory 64MiB --wall 10s
 *   expect returned 510/90
 */
#include "requests.h"

BEHAVIOUR {
  static char url[8000];
  char name[16];
  ba_status refused = 0;
  memset(url, 'a', sizeof url - 1);
  memcpy(url, "https://a.example/", 18);
  for (int index = 0; index < 600; index++) {
    snprintf(name, sizeof name, "%d", index);
    ba_download download = sound(name);
    download.url = ba_text(url);
    if (host->answer(host, &download)) refused++;
  }
  return UNUSED, refused;
}
