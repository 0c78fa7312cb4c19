/* Flags that only the host sets, and ones that don't exist.
 *
 * H88: Flags that only the host sets are ignored.
 *   run
 *   with --wall 5s
 *   expect returned 2/0|1/1
 */
#include "requests.h"

BEHAVIOUR {
  ba_download download = sound("flags");
  download.flags = ~BA_DOWNLOAD_ESSENTIAL;
  return UNUSED, with_sound(host, &download);
}
