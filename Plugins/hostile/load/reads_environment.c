/* Code that runs before the constructors do and looks through the environment. Answers 3 downloads if it found no
 * HOSTILE_CANARY there, else none.
 *
 * H82: Start the host with HOSTILE_CANARY=token.
 *   run
 *   expect returned 3/0
 */
#include "plugin.h"

static int found;

static __attribute__((constructor(101))) void begin(int count, char **arguments, char **environment) {
  (void)count, (void)arguments;
  for (; environment && *environment; environment++) found |= strncmp(*environment, "HOSTILE_CANARY=", 15) == 0;
}

static ba_status content_request(const ba_host *host, const ba_content_request *request) {
  return found ? BA_FAILED : three_downloads(host, request);
}

EXTENSION(content_request)
