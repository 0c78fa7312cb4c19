#include "ol_process.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, NO_SUCH_CHANGE = -1 };

/* rt_sigprocmask(2) copies the set before it finds that there is no such change. It needs no descriptor that a plugin could
   close, and every filter allows it. A set at NULL isn't read, so what is asked about is never the page's first word. */
static int is_readable(uintptr_t page) {
  int saved = errno;
  long result = syscall(SYS_rt_sigprocmask, NO_SUCH_CHANGE, (void *)(page | 8), NULL, 8);
  int code = result < 0 ? errno : 0;
  errno = saved;
  return code == EINVAL;
}

int ol_check_readable(const void *address, size_t count) {
  uintptr_t start = (uintptr_t)address;
  if (count == 0) return 0;
  if (start + (count - 1) < start) return EFAULT;
  uintptr_t last = (start + (count - 1)) / PAGE * PAGE;
  for (uintptr_t page = start / PAGE * PAGE;; page += PAGE) {
    if (!is_readable(page)) return EFAULT;
    if (page == last) return 0;
  }
}

int ol_check_text(const char *text, size_t limit, size_t *length) {
  *length = 0;
  while (*length < limit) {
    uintptr_t start = (uintptr_t)text + *length;
    size_t left = PAGE - start % PAGE, part = left < limit - *length ? left : limit - *length;
    if (start < (uintptr_t)text || ol_check_readable((const void *)start, part) != 0) return EFAULT;
    size_t found = strnlen((const char *)start, part);
    *length += found;
    if (found < part) return 0;
  }
  return 0;
}
