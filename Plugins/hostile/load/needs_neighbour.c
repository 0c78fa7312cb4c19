/* What is allowed: a library beside it, by $ORIGIN.
 *
 * H112: Trap: a library beside it, by $ORIGIN.
 *   run
 *   expect returned 3/0, works without walls
 */
#include "plugin.h"

extern int neighbour_value(void);
static ba_status content_request(const ba_host *host, const ba_content_request *request) {
  return neighbour_value() == 42 ? three_downloads(host, request) : BA_FAILED;
}

EXTENSION(content_request)
