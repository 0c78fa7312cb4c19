/* Two libraries that need each other. The loader knows how.
 *
 * H111: Trap: two that need each other.
 *   run
 *   expect returned 3/0, works without walls
 */
#include "plugin.h"

extern int cycle_value(void);
EXPORT int cycle_back(void) { return 1; }
static ba_status content_request(const ba_host *host, const ba_content_request *request) {
  return cycle_value() == 2 ? three_downloads(host, request) : BA_FAILED;
}

EXTENSION(content_request)
