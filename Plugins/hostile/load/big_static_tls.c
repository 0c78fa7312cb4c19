/* Thread storage of 1 MiB that must lie in the static block. The loader refuses it.
 *
 * H120: Refused by the loader, or counted.
 *   run
 *   expect loadFailed|returned 3/0
 */
#include "plugin.h"

static __thread __attribute__((tls_model("initial-exec"))) char block[1 << 20];

static ba_status content_request(const ba_host *host, const ba_content_request *request) {
  ((volatile char *)block)[0] = 1;
  return three_downloads(host, request);
}

EXTENSION(content_request)
