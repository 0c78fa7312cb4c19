/* Another app's container: 55. A host that maps every group to the one container that it was given answers 0.
 *
 * H102: Another app's group has no path.
 *   run
 *   with --wall 5s
 *   expect returned 1/0
 */
#include "requests.h"

BEHAVIOUR {
  char path[4096];
  size_t length = 0;
  ba_status status = host->container_path(host, ba_text("group.com.example.someone-else"), path, sizeof path, &length);
  answer_sound(host, "sound");
  return UNUSED, status == BA_OK && length < sizeof path ? BA_OK : status == BA_CALLER_CONNECTION_NOT_ACCEPTED ? BA_OK : BA_FAILED;
}
