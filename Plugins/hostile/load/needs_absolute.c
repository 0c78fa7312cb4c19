/* Needs a library by an absolute path, outside of its bundle. Canary: `evil-canary` in the container.
 *
 * H112: Nor an absolute name; canary: no evil-canary in the container.
 *   run
 *   expect loadFailed, works without walls
 */
#include "plugin.h"

extern int evil_was_loaded(void);
static ba_status content_request(const ba_host *host, const ba_content_request *request) {
  return evil_was_loaded() ? BA_FAILED : three_downloads(host, request);
}

EXTENSION(content_request)
