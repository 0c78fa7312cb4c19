/* Keeps the manifest's path; writes to the manifest. It is read-only.
 *
 * H105: The manifest is read-only: the returned status is 0.
 *   run
 *   with --wall 5s
 *   expect returned 1/0
 */
#include "requests.h"

BEHAVIOUR {
  char path[4096];
  snprintf(path, sizeof path, "%.*s", (int)request->manifest_path.length, request->manifest_path.bytes);
  int32_t code = opened(open(path, O_WRONLY | O_TRUNC | O_CLOEXEC));
  answer_sound(host, "sound");
  return code == EROFS || code == EACCES ? BA_OK : BA_FAILED;
}
