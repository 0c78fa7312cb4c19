/* A secret in the environment: any variable HOSTILE_CANARY that the host was started with.
 *
 * H82: Start the host with HOSTILE_CANARY=token: the plugin doesn't find it.
 *   call i32()
 *   expect returned 2, works without walls
 */
#include "shared.h"

EXPORT int32_t h82_environment(void) {
  for (char **entry = environ; entry && *entry; entry++)
    if (strncmp(*entry, secret_name, sizeof secret_name - 1) == 0) return 0;
  return ENOENT;
}
