/* H118: a constructor that forks; ok() returns the errno that it met, 0 when the child was made */
#include "hostile.h"
#include <sys/wait.h>
static int32_t code;
__attribute__((constructor)) static void begin(void) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  code = TRY(child);
  if (child > 0) waitpid(child, NULL, 0);
}
EXPORT int32_t ok(void) { return code; }
