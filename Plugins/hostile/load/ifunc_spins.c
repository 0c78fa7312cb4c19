/* A resolver of an indirect function that never returns: it runs while the loader relocates.
 *
 * H03: While relocating.
 *   run
 *   with --wall 300ms
 *   expect wallTimeExceeded
 */
#include "plugin.h"

static __attribute__((used)) void (*resolve(void))(void) {
  for (volatile unsigned turns = 0;; turns++) {
  }
  return NULL;
}

EXPORT void indirect(void) __attribute__((ifunc("resolve")));

static ba_status content_request(const ba_host *host, const ba_content_request *request) {
  indirect();
  return three_downloads(host, request);
}

EXTENSION(content_request)
