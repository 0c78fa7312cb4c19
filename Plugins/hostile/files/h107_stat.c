/* Looks whether something is there.
 *
 * H107: Whether /etc/shadow exists isn't told.
 *   call i32(cstring) /etc/shadow
 *   expect returned 2|13, works without walls
 *
 * H107: Whether /root exists isn't told.
 *   call i32(cstring) /root
 *   expect returned 2|13, works without walls
 *
 * H107: Whether /home exists isn't told.
 *   call i32(cstring) /home
 *   expect returned 2|13
 *
 * H107: Whether /var/log exists isn't told.
 *   call i32(cstring) /var/log
 *   expect returned 2|13, works without walls
 *
 * H107: Whether /proc/1 exists isn't told.
 *   call i32(cstring) /proc/1
 *   expect returned 2|13, works without walls
 *
 * H107: Whether /sys exists isn't told.
 *   call i32(cstring) /sys
 *   expect returned 2|13, works without walls
 */
#include "hostile.h"

EXPORT int32_t h107_stat(const char *path) {
  struct stat status;
  return outcome(stat(path, &status));
}
