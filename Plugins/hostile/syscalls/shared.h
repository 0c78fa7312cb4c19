/* What the behaviours of this folder share. */
#ifndef HOSTILE_SYSCALLS_H
#define HOSTILE_SYSCALLS_H

#include "hostile.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* A system call by i386 number: pointers must lie below 4 GiB. */
static inline long call_i386(long number, long first, long second) {
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(first), "c"(second)
                   : "memory", "cc", "r8", "r9", "r10", "r11");
  return result;
}

static inline void *low_page(void) {
  return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
}

static inline int32_t type_into_terminal(unsigned long request) {
  char key = 'x';
  int number = 0, unlocked = 0, master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), terminal = 0;
  if (master >= 0 && ioctl(master, TIOCSPTLCK, &unlocked) == 0 && ioctl(master, TIOCGPTN, &number) == 0) {
    char path[32];
    snprintf(path, sizeof path, "/dev/pts/%d", number);
    terminal = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
  }
  return outcome(syscall(SYS_ioctl, terminal, request, &key));
}

static inline int32_t reaped(long child) {
  if (child == 0) _exit(0);
  int32_t code = outcome(child);
  if (child > 0) waitpid((pid_t)child, NULL, __WALL);
  return code;
}

#define P(value) ((long)(value))

static inline int32_t add_filter(unsigned flags, uint32_t action) {
  struct sock_filter code = BPF_STMT(BPF_RET | BPF_K, action);
  struct sock_fprog program = {1, &code};
  long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
  return flags ? opened(result) : outcome(result);
}

/* The soft limit at the hard one: what every process may set for itself. */
static inline struct rlimit highest(void) {
  struct rlimit limit = {0, 0};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  return limit;
}

static const unsigned char answer_42[] = {0xb8, 42, 0, 0, 0, 0xc3}; /* mov $42,%eax; ret */

static inline int32_t run_code(void *memory) {
  if (memory == MAP_FAILED) return errno;
  return ((int (*)(void))memory)() == 42 ? 0 : EIO;
}

#define NO_ENVIRONMENT ((char *[]){NULL})

#endif
