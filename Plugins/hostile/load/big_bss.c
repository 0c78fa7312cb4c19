/* 1 GiB of zeros that no code touches: a reservation, which is harmless, or a refusal of the loader's.
 *
 * H23: 1 GiB that no code touches is no memory.
 *   run
 *   expect returned|loadFailed 3/0
 */
#include "plugin.h"

/* Not static: what nothing in this file writes would be a gigabyte of read-only data in the library itself. */
char zeros[(size_t)1 << 30];

static ba_status content_request(const ba_host *host, const ba_content_request *request) {
  return ((volatile char *)zeros)[1 << 29] ? BA_FAILED : three_downloads(host, request);
}

EXTENSION(content_request)
