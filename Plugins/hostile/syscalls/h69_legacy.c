/* Calls that the C library no longer makes.
 *
 * H69: open(2) is treated as its modern form is; canary: no h69-canary in /etc.
 *   call i32(cstring) open
 *   with --observe
 *   expect returned 2|13, denied open, works without walls
 *
 * H69: creat(2) is treated as its modern form is; canary: no h69-canary in /etc.
 *   call i32(cstring) creat
 *   with --observe
 *   expect returned 30|13|2, denied creat
 *
 * H69: access(2) is treated as its modern form is; canary: no h69-canary in /etc.
 *   call i32(cstring) access
 *   with --observe
 *   expect returned 2|13, denied access, works without walls
 *
 * H69: stat(2) is treated as its modern form is; canary: no h69-canary in /etc.
 *   call i32(cstring) stat
 *   with --observe
 *   expect returned 2|13, denied stat, works without walls
 */
#include "hostile.h"

static char junk[4096];

EXPORT int32_t h69_legacy(const char *name) {
  if (strcmp(name, "open") == 0) return opened(syscall(SYS_open, "/etc/shadow", O_RDONLY | O_CLOEXEC));
  if (strcmp(name, "creat") == 0) return opened(syscall(SYS_creat, "/etc/h69-canary", 0600));
  if (strcmp(name, "access") == 0) return outcome(syscall(SYS_access, "/etc/shadow", 0));
  if (strcmp(name, "stat") == 0) return outcome(syscall(SYS_stat, "/etc/shadow", junk));
  return -1;
}
