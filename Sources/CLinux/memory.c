#include "ol_process.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
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

/* Where a thread goes on whose read of memory that may be gone faulted. */
static _Thread_local sigjmp_buf *volatile fault_return;

void ol_leave_faulting_read(void) {
  if (fault_return) siglongjmp(*fault_return, 1);
}

/* Not inlined: nothing of the caller's is in a register when the fault comes. */
__attribute__((noinline)) static int guarded(size_t (*read)(void *, const void *, size_t), void *to, const void *from,
                                             size_t count, size_t *result) {
  sigjmp_buf here;
  /* The mask isn't restored: the handler of the fault blocks no signal (SA_NODEFER). */
  if (sigsetjmp(here, 0)) {
    fault_return = NULL;
    return EFAULT;
  }
  fault_return = &here;
  atomic_signal_fence(memory_order_seq_cst);
  size_t done = read(to, from, count);
  atomic_signal_fence(memory_order_seq_cst);
  fault_return = NULL;
  *result = done;
  return 0;
}

static size_t copy(void *to, const void *from, size_t count) {
  memcpy(to, from, count);
  return count;
}

static size_t length_of(void *to, const void *from, size_t count) {
  (void)to;
  return strnlen(from, count);
}

int ol_copy_guarded(void *to, const void *from, size_t count) {
  size_t done;
  return guarded(copy, to, from, count, &done);
}

int ol_copy_readable(void *to, const void *from, size_t count) {
  if (count == 0) return 0;
  return ol_check_readable(from, count) ?: ol_copy_guarded(to, from, count);
}

int ol_check_text(const char *text, size_t limit, size_t *length) {
  *length = 0;
  while (*length < limit) {
    uintptr_t start = (uintptr_t)text + *length;
    size_t left = PAGE - start % PAGE, part = left < limit - *length ? left : limit - *length, found;
    if (start < (uintptr_t)text || ol_check_readable((const void *)start, part) != 0) return EFAULT;
    if (guarded(length_of, NULL, (const void *)start, part, &found) != 0) return EFAULT;
    *length += found;
    if (found < part) return 0;
  }
  return 0;
}
