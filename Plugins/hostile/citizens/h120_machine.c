/* Asks about the machine.
 *
 * H120: Trap: Facts about the machine.
 *   call i32()
 *   expect returned 0, works without walls
 */
#include "hostile.h"

#include <spawn.h>
#include <sys/random.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

EXPORT int32_t h120_machine(void) {
  struct utsname system;
  struct sysinfo information;
  cpu_set_t set;
  char bytes[16];
  if (uname(&system) < 0 || sysinfo(&information) < 0 || getrandom(bytes, sizeof bytes, 0) < 0) return errno;
  if (sched_getaffinity(0, sizeof set, &set) < 0) return errno;
  return sysconf(_SC_PAGESIZE) > 0 && CPU_COUNT(&set) > 0 ? 0 : EIO;
}
