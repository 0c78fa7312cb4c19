/* Lists the root: are the machine's directories there?
 *
 * H107: The root shows nothing of the machine.
 *   call i32()
 *   expect returned 2|13, works without walls
 */
#include "hostile.h"

#include <dirent.h>

EXPORT int32_t h107_list_root(void) {
  DIR *root = opendir("/");
  if (!root) return errno;
  int32_t code = ENOENT;
  for (struct dirent *entry; (entry = readdir(root));)
    if (strcmp(entry->d_name, "home") == 0 || strcmp(entry->d_name, "var") == 0) code = 0;
  closedir(root);
  /* A runner's root may have a folder of that name, with the bounds of its own stack. */
  if (access("/proc/1", F_OK) == 0 || access("/proc/cpuinfo", F_OK) == 0) code = 0;
  return code;
}
