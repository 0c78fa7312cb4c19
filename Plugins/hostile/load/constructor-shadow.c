/* H102: a constructor that opens the machine's passwords; ok() returns the errno that it met */
#include "hostile.h"
static int32_t code;
__attribute__((constructor)) static void begin(void) {
  const int file = open("/etc/shadow", O_RDONLY | O_CLOEXEC);
  code = file < 0 ? errno : TRY(close(file));
}
EXPORT int32_t ok(void) { return code; }
