/* Every variable that an extension has no need of; the number of them, so 0 is right.
 *
 * H82: No variable beyond the published ones.
 *   call i32()
 *   expect returned 0
 */
#include "hostile.h"

#include <stdbool.h>

EXPORT int32_t h82_unexpected_variables(void) {
  static const char *const expected[] = {"HOME=", "TMPDIR=", "LANG=", "TZ=", "MALLOC_ARENA_MAX=", "SWIFT_BACKTRACE=",
                                         "OUTRIDER_REPLACEMENTS="};
  int32_t unexpected = 0;
  for (char **entry = environ; entry && *entry; entry++) {
    bool is_expected = false;
    for (size_t index = 0; index < sizeof expected / sizeof *expected; index++)
      is_expected |= strncmp(*entry, expected[index], strlen(expected[index])) == 0;
    unexpected += !is_expected;
  }
  return unexpected;
}
