/* Asks who it is, logs, looks at interfaces and waits for children: each has an answer, none of them is a denial.
 *
 * H120: Names, the system's log, interfaces and children are asked for without a denial.
 *   call i32()
 *   with --wall 5s
 *   expect returned 0, works without walls
 */
#include "hostile.h"

#include <grp.h>
#include <net/if.h>
#include <netdb.h>
#include <pwd.h>
#include <sys/wait.h>
#include <syslog.h>

EXPORT int32_t h120_asks(void) {
  getpwuid(getuid());
  getgrgid(getgid());
  getservbyname("http", "tcp");
  syslog(LOG_INFO, "a line for the system's log");
  if_nametoindex("lo");
  errno = 0;
  return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : EIO;
}
