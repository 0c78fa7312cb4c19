#include "ol_crash.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

/* As process 1 of its namespace a runner can't die of a signal that it raises itself: glibc's abort would end in a
   fault. The handler says which signal it was, and this status stands for SIGABRT. */
enum { ABORTED = 134, LONGEST_NAME = 255 };

static int crash_channel = -1;
static unsigned char crash_kind;
static char alternate_stack[64 * 1024] __attribute__((aligned(16)));

struct writer {
  unsigned char bytes[1024];
  size_t count;
};

static void put(struct writer *writer, uint64_t value, int width) {
  for (int index = 0; index < width; index++) writer->bytes[writer->count++] = (unsigned char)(value >> (8 * index));
}

static void put_text(struct writer *writer, const char *text) {
  size_t length = text ? strnlen(text, LONGEST_NAME) : 0;
  put(writer, length, 4);
  for (size_t index = 0; index < length; index++) {
    unsigned char byte = (unsigned char)text[index];
    writer->bytes[writer->count++] = byte < 0x80 ? byte : '?';
  }
}

static void on_crash(int number, siginfo_t *info, void *raw) {
  int saved = errno;
  struct writer body = {.count = 0}, frame = {.count = 0};
  uint64_t instruction = 0, stack = 0;
#if defined(__x86_64__)
  const ucontext_t *context = raw;
  instruction = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
  stack = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
#else
  (void)raw;
#endif
  Dl_info where;
  memset(&where, 0, sizeof where);
  /* Not on the list of async-signal-safe functions; it takes the loader's lock, which a crash inside dlopen holds.
     The wall clock ends that. */
  int known = instruction && dladdr((void *)(uintptr_t)instruction, &where);
  uint64_t base = (uint64_t)(uintptr_t)(where.dli_saddr ? where.dli_saddr : where.dli_fbase);
  put(&body, (uint64_t)number, 4);
  put(&body, (uint64_t)(uintptr_t)info->si_addr, 8);
  put(&body, instruction, 8);
  put(&body, stack, 8);
  put_text(&body, known ? where.dli_fname : NULL);
  put_text(&body, known ? where.dli_sname : NULL);
  put(&body, known ? instruction - base : 0, 8);
  put(&frame, 0x526f, 2);
  put(&frame, 1, 1);
  put(&frame, crash_kind, 1);
  put(&frame, body.count, 4);
  put(&frame, 0, 8);
  memcpy(frame.bytes + frame.count, body.bytes, body.count);
  frame.count += body.count;
  send(crash_channel, frame.bytes, frame.count, MSG_NOSIGNAL | MSG_DONTWAIT);
  errno = saved;
  if (number == SIGABRT) _exit(ABORTED);
  /* SA_RESETHAND has restored the default: the fault happens again and the kernel ends the process. */
  if (info->si_code <= 0) _exit(128 + number);
}

int ol_install_crash_handlers(int channel, unsigned char kind) {
  static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS};
  crash_channel = channel;
  crash_kind = kind;
  stack_t stack = {.ss_sp = alternate_stack, .ss_size = sizeof alternate_stack};
  if (sigaltstack(&stack, NULL) < 0) return errno;
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_crash;
  action.sa_flags = (int)(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND | SA_NODEFER);
  for (size_t index = 0; index < sizeof signals / sizeof *signals; index++)
    if (sigaction(signals[index], &action, NULL) < 0) return errno;
  return 0;
}
