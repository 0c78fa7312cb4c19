/* Needs a library that isn't there.
 *
 * H112: The message names the library.
 *   run
 *   expect loadFailed
 */
#include "plugin.h"

extern int evil_was_loaded(void);
static ba_status content_request(const ba_host *host, const ba_content_request *request) {
  return evil_was_loaded() ? BA_FAILED : three_downloads(host, request);
}

EXTENSION(content_request)
