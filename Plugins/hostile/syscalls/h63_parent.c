/* What the process filesystem tells about the host: `mem`, `environ`, `fd`, `maps`, `root`.
 *
 * H63: The host's /proc/PID/mem isn't there; reported with its path.
 *   call i32(cstring) mem
 *   with --observe
 *   expect returned 2|13, denied openat, works without walls
 *
 * H63: The host's /proc/PID/environ isn't there; reported with its path.
 *   call i32(cstring) environ
 *   with --observe
 *   expect returned 2|13, denied openat, works without walls
 *
 * H63: The host's /proc/PID/fd isn't there; reported with its path.
 *   call i32(cstring) fd
 *   with --observe
 *   expect returned 2|13, denied openat, works without walls
 *
 * H63: The host's /proc/PID/maps isn't there; reported with its path.
 *   call i32(cstring) maps
 *   with --observe
 *   expect returned 2|13, denied openat, works without walls
 *
 * H63: The host's /proc/PID/root/etc/shadow isn't there; reported with its path.
 *   call i32(cstring) root/etc/shadow
 *   with --observe
 *   expect returned 2|13, denied openat, works without walls
 */
#include "hostile.h"

static int32_t open_of_parent(const char *what) {
  char path[64];
  /* In a pid namespace of its own it has no parent; process 1 stands for the host then. */
  snprintf(path, sizeof path, "/proc/%d/%s", getppid() ? getppid() : 1, what);
  return open_for(O_RDONLY, path);
}

EXPORT int32_t h63_parent(const char *what) { return open_of_parent(what); }
