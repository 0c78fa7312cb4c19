/* Calls a function that no library has.
 *
 * H111: The message names the function.
 *   run
 *   expect loadFailed
 */
#include "plugin.h"

extern int nobody_defines_this(void);
static ba_status content_request(const ba_host *host, const ba_content_request *request) {
  return nobody_defines_this() ? BA_FAILED : three_downloads(host, request);
}

EXTENSION(content_request)
