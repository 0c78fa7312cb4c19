/* Code that the loader has to change before it runs (linked with -z notext): written, then made code again. Whether it
 * loads is up to the loader; if it does, the code is what the file said.
 *
 * H67: The loader's decision.
 *   run
 *   expect returned|loadFailed 3/0, denied *, works without walls
 */
#include "plugin.h"

static int value = 42;
static __attribute__((noinline)) int read_value(void) {
  int result;
  /* An absolute 64-bit address within the code. */
  __asm__("movabs $%c1, %%rax\n\tmovl (%%rax), %0" : "=r"(result) : "i"(&value) : "rax");
  return result;
}

static ba_status content_request(const ba_host *host, const ba_content_request *request) {
  return read_value() == 42 ? three_downloads(host, request) : BA_FAILED;
}

EXTENSION(content_request)
