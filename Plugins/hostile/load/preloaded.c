/* Looks whether LD_PRELOAD or LD_AUDIT of the host's caller reached it: start the host with
 * LD_PRELOAD=…/elsewhere/libevil.so. Its canary must not come from here.
 *
 * H112: Start the host with LD_PRELOAD=build/load/elsewhere/libevil.so: it doesn't reach the plugin.
 *   run
 *   expect returned 3/0
 */
#include "plugin.h"

#include <dlfcn.h>

static ba_status content_request(const ba_host *host, const ba_content_request *request) {
  return dlsym(RTLD_DEFAULT, "evil_was_loaded") ? BA_FAILED : three_downloads(host, request);
}

EXTENSION(content_request)
