/* One option of prctl(2), by its name.
 *
 * H65: Trap: harmless and allowed: name.
 *   call i32(cstring) name
 *   expect returned 0, works without walls
 *
 * H65: Trap: harmless and allowed: get-dumpable.
 *   call i32(cstring) get-dumpable
 *   expect returned 0, works without walls
 *
 * H65: Refused: dumpable.
 *   call i32(cstring) dumpable
 *   expect returned 1, denied prctl, works without walls
 *
 * H65: Refused: mm.
 *   call i32(cstring) mm
 *   expect returned 1, denied prctl
 *
 * H65: Refused: pdeathsig.
 *   call i32(cstring) pdeathsig
 *   expect returned 1, denied prctl, works without walls
 *
 * H65: Refused: child-subreaper.
 *   call i32(cstring) child-subreaper
 *   expect returned 1, denied prctl, works without walls
 *
 * H65: Refused: speculation.
 *   call i32(cstring) speculation
 *   expect returned 1, denied prctl
 *
 * H65: Refused: ptracer.
 *   call i32(cstring) ptracer
 *   expect returned 1, denied prctl
 *
 * H65: Refused: keepcaps.
 *   call i32(cstring) keepcaps
 *   expect returned 1, denied prctl, works without walls
 *
 * H65: Refused: securebits.
 *   call i32(cstring) securebits
 *   expect returned 1, denied prctl, works without walls
 *
 * H65: Refused: ambient.
 *   call i32(cstring) ambient
 *   expect returned 1, denied prctl, works without walls
 *
 * H65: Refused: timerslack.
 *   call i32(cstring) timerslack
 *   expect returned 1, denied prctl, works without walls
 *
 * H65: Refused: thp.
 *   call i32(cstring) thp
 *   expect returned 1, denied prctl, works without walls
 *
 * H65: Refused: dispatch.
 *   call i32(cstring) dispatch
 *   expect returned 1, denied prctl, works without walls
 */
#include "shared.h"

#include <sys/prctl.h>

EXPORT int32_t h65_prctl(const char *name) {
  static const struct {
    const char *name;
    long option, arguments[4];
  } options[] = {
      {"name", PR_SET_NAME, {P("harmless")}},
      {"get-dumpable", PR_GET_DUMPABLE, {0}},
      {"dumpable", PR_SET_DUMPABLE, {1}},
      {"mm", PR_SET_MM, {PR_SET_MM_BRK, 0}},
      {"pdeathsig", PR_SET_PDEATHSIG, {0}},
      {"child-subreaper", PR_SET_CHILD_SUBREAPER, {1}},
      {"speculation", PR_SET_SPECULATION_CTRL, {PR_SPEC_INDIRECT_BRANCH, PR_SPEC_ENABLE}},
      {"ptracer", PR_SET_PTRACER, {-1}},
      {"keepcaps", PR_SET_KEEPCAPS, {1}},
      {"securebits", PR_SET_SECUREBITS, {0}},
      {"ambient", PR_CAP_AMBIENT, {PR_CAP_AMBIENT_CLEAR_ALL}},
      {"timerslack", PR_SET_TIMERSLACK, {1}},
      {"thp", PR_SET_THP_DISABLE, {0}},
      {"dispatch", PR_SET_SYSCALL_USER_DISPATCH, {PR_SYS_DISPATCH_OFF}},
  };
  for (size_t index = 0; index < sizeof options / sizeof *options; index++) {
    const long *a = options[index].arguments;
    if (strcmp(options[index].name, name) == 0)
      return outcome(syscall(SYS_prctl, options[index].option, a[0], a[1], a[2], a[3]));
  }
  return -1;
}
