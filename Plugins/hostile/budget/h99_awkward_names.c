/* A name as long as can be, with bytes that are no text, and a directory that no user may enter.
 *
 * H99: The janitor removes names that are no text and a closed directory.
 *   call i32()
 *   expect returned 0
 */
#include "hostile.h"

EXPORT int32_t h99_awkward_names(void) {
  static char name[256] = "\x1b[2J\n\xff\xfe-";
  memset(name + strlen(name), 'n', 255 - strlen(name));
  if (open_for(O_CREAT | O_WRONLY, in_container(name)) != 0) return errno;
  if (mkdir(in_container("h99-closed"), 0700) < 0) return errno;
  if (open_for(O_CREAT | O_WRONLY, in_container("h99-closed/inside")) != 0) return errno;
  return outcome(chmod(in_container("h99-closed"), 0));
}
