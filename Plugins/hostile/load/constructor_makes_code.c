/* Memory that may be written and run, asked for while code may be mapped: never both at once, not even then.
 *
 * H67: Never writable and executable, not even while loading.
 *   run
 *   expect returned 3/0, denied mmap
 */
#include "plugin.h"

static void *memory = MAP_FAILED;

static __attribute__((constructor)) void begin(void) {
  memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static ba_status content_request(const ba_host *host, const ba_content_request *request) {
  return memory == MAP_FAILED ? three_downloads(host, request) : BA_FAILED;
}

EXTENSION(content_request)
