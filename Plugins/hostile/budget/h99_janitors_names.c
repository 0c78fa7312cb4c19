/* What a janitor would call the things that it moves, and a link in a folder that is closed to its owner.
 *
 * H99: The folder goes whatever the things in it are called.
 *   call i32()
 *   expect returned 0
 */
#include "hostile.h"

EXPORT int32_t h99_janitors_names(void) {
  char name[64];
  for (int32_t index = 0; index < 100; index++) {
    snprintf(name, sizeof name, ".removing-%d", index);
    if (mkdir(in_container(name), 0700) < 0) return errno;
    snprintf(name, sizeof name, ".removing-%d/x", index);
    if (mkdir(in_container(name), 0700) < 0) return errno;
    snprintf(name, sizeof name, ".removing-%d/x/f", index);
    if (open_for(O_CREAT | O_WRONLY, in_container(name)) != 0) return errno;
  }
  if (symlink("../../..", in_container(".removing-0/x/link")) < 0) return errno;
  if (chmod(in_container(".removing-0/x"), 0500) < 0 || chmod(in_container(".removing-0"), 0500) < 0) return errno;
  return outcome(chmod(in_container("."), 0));
}
