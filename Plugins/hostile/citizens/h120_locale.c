/* Locale, time zone, character sets, number formats. A machine without a locale is none of ours.
 *
 * H120: Trap: Locale and time zone.
 *   call i32()
 *   expect returned 0, works without walls
 */
#include "hostile.h"

#include <locale.h>
#include <time.h>

EXPORT int32_t h120_locale(void) {
  time_t now = time(NULL);
  struct tm local;
  char text[64];
  wchar_t wide[8];
  setlocale(LC_ALL, "");
  setlocale(LC_ALL, "de_DE.UTF-8");
  tzset();
  if (!localtime_r(&now, &local) || strftime(text, sizeof text, "%c %Z", &local) == 0) return EIO;
  setlocale(LC_ALL, "C.UTF-8");
  return mbstowcs(wide, "\xc3\xa4", 8) == 1 ? 0 : EIO;
}
