#include "ol_crash.h"
#include "ol_libraries.h"
#include "ol_process.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

/* As process 1 of its namespace a runner can't die of a signal that it raises itself: glibc's abort would end in a
   fault. The handler says which signal it was, and this status stands for SIGABRT. */
enum { ABORTED = 134, LONGEST_NAME = 255, LONGEST_SYMBOL = 640, MOST_FRAMES = 32 };

static int crash_channel = -1;
/* The runner. What it starts is no runner, and its faults are told by wait(2). */
static pid_t runner;
static struct ol_stack_messages kinds;
static char alternate_stack[64 * 1024] __attribute__((aligned(16)));

struct writer {
  unsigned char bytes[2048];
  size_t count;
};

static void put(struct writer *writer, uint64_t value, int width) {
  for (int index = 0; index < width; index++) writer->bytes[writer->count++] = (unsigned char)(value >> (8 * index));
}

/* How many of these bytes are one character as UTF-8 has it (RFC 3629); 0: they begin none. */
static size_t character(const unsigned char *bytes, size_t count) {
  unsigned char first = bytes[0];
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (length > count) return 0;
  for (size_t index = 1; index < length; index++)
    if ((bytes[index] & 0xc0) != 0x80) return 0;
  /* More bytes than the character needs, halves of a pair of UTF-16, and what lies beyond the last one. */
  if ((first == 0xe0 && bytes[1] < 0xa0) || (first == 0xed && bytes[1] > 0x9f)) return 0;
  if ((first == 0xf0 && bytes[1] < 0x90) || (first == 0xf4 && bytes[1] > 0x8f)) return 0;
  return length;
}

/* Files and functions have names of any bytes, and the host takes no text that isn't UTF-8: what isn't, also of a character
   that is cut, is told as question marks. The copy is what is looked at, since another thread may change the name meanwhile. */
static void put_text(struct writer *writer, const char *text, size_t longest) {
  size_t length = text ? strnlen(text, longest) : 0;
  put(writer, length, 4);
  if (length == 0) return;
  unsigned char *copy = writer->bytes + writer->count;
  memcpy(copy, text, length);
  for (size_t index = 0; index < length;) {
    size_t size = character(copy + index, length - index);
    if (size == 0) copy[index] = '?';
    index += size == 0 ? 1 : size;
  }
  writer->count += length;
}

struct place {
  const char *library, *symbol;
  uint64_t base;
};

static void send_frame(unsigned char kind, const struct writer *body) {
  struct writer frame = {.count = 0};
  put(&frame, 0x526f, 2);
  put(&frame, 1, 1);
  put(&frame, kind, 1);
  put(&frame, body->count, 4);
  put(&frame, 0, 8);
  memcpy(frame.bytes + frame.count, body->bytes, body->count);
  frame.count += body->count;
  send(crash_channel, frame.bytes, frame.count, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* What the thread wanted to do with the memory that it faulted at: as `RunnerMessage.CrashSite.Access` has it. */
enum access { ACCESS_UNKNOWN, ACCESS_READ, ACCESS_WRITE, ACCESS_EXECUTE };

struct registers {
  uint64_t instruction, stack;
  enum access access;
};

static const char *name_of(const struct ol_library *library) {
  return *library->name ? library->name : program_invocation_name;
}

/* The library that the fault's address is in, as `find` finds it. */
static struct place place_of_fault(const siginfo_t *info, int (*find)(uintptr_t, struct ol_library *)) {
  struct place place = {NULL, NULL, 0};
  struct ol_library library;
  if (info->si_code > 0 && find((uintptr_t)info->si_addr, &library)) {
    place.library = name_of(&library);
    place.base = library.base;
  }
  return place;
}

static void tell(int number, const siginfo_t *info, const struct registers *registers, const struct place *place,
                 const struct place *fault) {
  struct writer body = {.count = 0};
  uint64_t address = (uint64_t)(uintptr_t)info->si_addr;
  put(&body, (uint64_t)number, 4);
  put(&body, address, 8);
  put(&body, registers->instruction, 8);
  put(&body, registers->stack, 8);
  put_text(&body, place->library, LONGEST_NAME);
  put_text(&body, place->symbol, LONGEST_SYMBOL);
  put(&body, place->library ? registers->instruction - place->base : 0, 8);
  put(&body, (uint64_t)(uint32_t)info->si_code, 4);
  put(&body, registers->access, 1);
  put_text(&body, fault->library, LONGEST_NAME);
  put(&body, fault->library ? address - fault->base : 0, 8);
  send_frame(kinds.site, &body);
}

/* How many entries of the dynamic symbol table the hash table reaches. */
static size_t symbol_count(const uint32_t *hash, const uint32_t *gnu) {
  if (hash) return hash[1];
  if (!gnu) return 0;
  const uint32_t *buckets = (const uint32_t *)((const ElfW(Addr) *)(gnu + 4) + gnu[2]), *chain = buckets + gnu[0];
  uint32_t last = 0;
  for (uint32_t index = 0; index < gnu[0]; index++)
    if (buckets[index] > last) last = buckets[index];
  if (last < gnu[1]) return 0;
  while (!(chain[last - gnu[1]] & 1)) last++;
  return (size_t)last + 1;
}

/* What dladdr finds, without its lock. */
static void find_symbol(const struct ol_library *library, uint64_t instruction, struct place *place) {
  const uint32_t *hash = NULL, *gnu = NULL;
  const ElfW(Sym) *symbols = NULL, *best = NULL;
  const char *names = NULL;
  size_t names_size = 0;
  for (const ElfW(Dyn) *entry = library->dynamic; entry && entry->d_tag != DT_NULL; entry++) {
    /* The loader has added the base, except where the section is read-only. */
    uintptr_t value = entry->d_un.d_ptr, address = value < library->base ? value + library->base : value;
    switch (entry->d_tag) {
      case DT_HASH: hash = (const uint32_t *)address; break;
      case DT_GNU_HASH: gnu = (const uint32_t *)address; break;
      case DT_SYMTAB: symbols = (const ElfW(Sym) *)address; break;
      case DT_STRTAB: names = (const char *)address; break;
      case DT_STRSZ: names_size = entry->d_un.d_val; break;
    }
  }
  if (!symbols || !names) return;
  uint64_t offset = instruction - library->base;
  size_t count = symbol_count(hash, gnu);
  for (const ElfW(Sym) *symbol = symbols; symbol < symbols + count; symbol++) {
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || symbol->st_name >= names_size) continue;
    if (ELF64_ST_TYPE(symbol->st_info) == STT_TLS || offset < symbol->st_value) continue;
    if (symbol->st_size ? offset >= symbol->st_value + symbol->st_size : offset != symbol->st_value) continue;
    if (!best || best->st_value < symbol->st_value) best = symbol;
  }
  if (!best) return;
  place->symbol = names + best->st_name;
  place->base = library->base + best->st_value;
}

#if __GLIBC_PREREQ(2, 35)
struct walk {
  uint64_t instruction;
  uint32_t count;
  /* The thread, where it isn't the one that crashed. */
  pid_t thread;
  /* Whether the frames of this handler are behind it. */
  int has_begun;
};

/* One message for each frame. Whether what called it is told as well: the runner's own frames, and what called them, aren't. Its
   functions in the place of the C library's, which plugins call and which have symbols for that, are as if they weren't there. */
static int tell_frame(struct walk *walk, uint64_t instruction, int is_call) {
  struct ol_library library;
  struct place place = {NULL, NULL, 0};
  struct writer body = {.count = 0};
  /* A call's frame has the address that it returns to, which may be the first of the next function. */
  uint64_t inside = instruction - (is_call ? 1 : 0);
  if (!ol_find_library(inside, &library)) return 0;
  find_symbol(&library, inside, &place);
  if (!*library.name) return place.symbol != NULL;
  if (walk->thread) put(&body, (uint64_t)walk->thread, 4);
  put(&body, walk->count++, 4);
  put_text(&body, library.name, LONGEST_NAME);
  put_text(&body, place.symbol, LONGEST_SYMBOL);
  put(&body, place.symbol ? inside - place.base : 0, 8);
  put(&body, inside - library.base, 8);
  send_frame(walk->thread ? kinds.thread_frame : kinds.frame, &body);
  return 1;
}

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *raw) {
  struct walk *walk = raw;
  int is_exact = 0;
  uint64_t instruction = (uint64_t)_Unwind_GetIPInfo(context, &is_exact);
  if (!walk->has_begun) {
    /* That one has been told. */
    walk->has_begun = instruction == walk->instruction;
    return _URC_NO_REASON;
  }
  if (walk->count == MOST_FRAMES || !tell_frame(walk, instruction, !is_exact)) return _URC_END_OF_STACK;
  return _URC_NO_REASON;
}

/* Who called what crashed, or what a thread was doing. Everything that is read here may be overwritten: a fault of its own ends
   the process, and what was told before is enough. Where what was jumped to is no code, the top of the stack has the caller's
   address. */
static void tell_callers(const struct registers *registers, int is_call, pid_t thread) {
  struct walk walk = {.instruction = registers->instruction, .thread = thread};
  struct ol_library library;
  int is_known = ol_find_library(registers->instruction, &library);
  if (is_known && !tell_frame(&walk, registers->instruction, is_call)) return;
  if (is_known && registers->access != ACCESS_EXECUTE) {
    _Unwind_Backtrace(visit, &walk);
  } else if (registers->stack) {
    tell_frame(&walk, *(const uint64_t *)(uintptr_t)registers->stack, 1);
  }
}
#endif

/* What is known without waiting for anyone, and without believing what a plugin may have written over, goes first: the tables that
   follow may be anything. Another thread may hold the loader's lock and wait for this one, for as long as a constructor does. */
static struct place locate(int number, const siginfo_t *info, const struct registers *registers) {
  struct place place = {NULL, NULL, 0}, fault = place_of_fault(info, ol_find_noted_library);
  struct ol_library library;
  uint64_t instruction = registers->instruction;
  int is_noted = ol_find_noted_library(instruction, &library);
  if (!is_noted) tell(number, info, registers, &place, &fault);
  if (is_noted || (instruction && ol_find_library(instruction, &library))) {
    place.library = name_of(&library);
    place.base = library.start;
    tell(number, info, registers, &place, &fault);
    find_symbol(&library, instruction, &place);
    if (place.symbol) tell(number, info, registers, &place, &fault);
  } else {
    /* The lookup above doesn't know a library that is still being relocated; this one does. Not on the list of
       async-signal-safe functions; the wall clock ends what waits for the lock. */
    Dl_info where;
    if (instruction && dladdr((void *)(uintptr_t)instruction, &where)) {
      const char *slash = strrchr(where.dli_fname, '/');
      place.library = slash ? slash + 1 : where.dli_fname;
      place.symbol = where.dli_sname;
      place.base = (uint64_t)(uintptr_t)(where.dli_saddr ? where.dli_saddr : where.dli_fbase);
      tell(number, info, registers, &place, &fault);
    }
  }
  return place;
}

/* Where the fault's address is, if that is a library that was loaded since they were noted. */
static void locate_fault(int number, const siginfo_t *info, const struct registers *registers, const struct place *place) {
  if (place_of_fault(info, ol_find_noted_library).library) return;
  struct place fault = place_of_fault(info, ol_find_library);
  if (fault.library) tell(number, info, registers, place, &fault);
}

static struct registers read_registers(const void *raw) {
  struct registers registers = {0, 0, ACCESS_UNKNOWN};
#if defined(__x86_64__)
  const ucontext_t *context = raw;
  registers.instruction = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
  registers.stack = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
  /* Of a page fault (trap 14): bit 1 for a write, bit 4 for code. */
  if (context->uc_mcontext.gregs[REG_TRAPNO] == 14) {
    uint64_t error = (uint64_t)context->uc_mcontext.gregs[REG_ERR];
    registers.access = error & 0x10 ? ACCESS_EXECUTE : error & 2 ? ACCESS_WRITE : ACCESS_READ;
  }
#else
  (void)raw;
#endif
  return registers;
}

/* The thread that crashed first; what others do meanwhile must not end the process before that is told. */
static _Atomic pid_t first_crash;

/* A trap's thread stands behind it already: who returned there would go on as if nothing had been. The kernel ends even the first
   process of a namespace for one that has no handler. */
static void trap_again(void) {
#if defined(__x86_64__)
  __asm__ volatile("int3");
#elif defined(__aarch64__)
  __asm__ volatile("brk #0");
#endif
  _exit(128 + SIGTRAP);
}

/* Where a plugin has set EFLAGS.AC, each unaligned access faults, in signal handlers too, and what is written here isn't aligned. */
static inline __attribute__((always_inline)) void allow_unaligned(void) {
#ifdef __x86_64__
  __asm__ volatile(
      "lea -128(%%rsp), %%rsp\n\tpushfq\n\tandl $~0x40000, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp" ::: "memory", "cc");
#endif
}

static void on_crash(int number, siginfo_t *info, void *raw) {
  allow_unaligned();
  int saved = errno;
  /* A fault, and no signal that a process sent. */
  if ((number == SIGSEGV || number == SIGBUS) && info->si_code > 0) ol_leave_faulting_read();
  if (getpid() != runner) {
    signal(number, SIG_DFL);
    if (info->si_code <= 0 || number == SIGTRAP) raise(number);
    errno = saved;
    return;
  }
  struct registers registers = read_registers(raw);
  pid_t none = 0, self = gettid();
  if (atomic_compare_exchange_strong(&first_crash, &none, self)) {
    struct place place = locate(number, info, &registers);
#if __GLIBC_PREREQ(2, 35)
    tell_callers(&registers, 0, 0);
#endif
    locate_fault(number, info, &registers, &place);
  } else if (none != self) {
    /* The process should be gone before it is over. The first one may wait for a lock that is held here. */
    struct timespec pause = {.tv_nsec = 100000000};
    nanosleep(&pause, NULL);
  }
  signal(number, SIG_DFL);
  errno = saved;
  if (number == SIGABRT) _exit(ABORTED);
  /* The fault happens again, and the kernel ends the process. */
  if (info->si_code <= 0) _exit(128 + number);
  if (number == SIGTRAP) trap_again();
}

void ol_tell_exit(const void *caller) {
#if __GLIBC_PREREQ(2, 35)
  struct ol_library library;
  if (getpid() != runner || atomic_load(&first_crash) != 0) return;
  /* The runner's own end is none of the plugin's. */
  if (!ol_find_library((uintptr_t)caller - 1, &library) || !*library.name) return;
  siginfo_t info;
  memset(&info, 0, sizeof info);
  struct registers registers = {(uint64_t)(uintptr_t)caller, 0, ACCESS_UNKNOWN};
  struct place nowhere = {NULL, NULL, 0};
  tell(0, &info, &registers, &nowhere, &nowhere);
  tell_callers(&registers, 1, 0);
#else
  (void)caller;
#endif
}

/* The host asks where this thread is, because the plugin's time is over: it tells, and goes no further. A plugin that signals
   itself isn't the host. Where the user's queue of signals is full, which one plugin can see to, the kernel leaves out who sent it
   (sigqueue(3), RLIMIT_SIGPENDING). */
static void on_question(int number, siginfo_t *info, void *raw) {
  allow_unaligned();
  (void)number;
  int is_told = info->si_code == SI_TKILL && info->si_pid != getpid();
  if (!is_told && (info->si_code != SI_USER || info->si_pid != 0)) return;
  struct registers registers = read_registers(raw);
  pid_t self = gettid();
#if __GLIBC_PREREQ(2, 35)
  tell_callers(&registers, 0, self);
#endif
  char name[16] = "";
  prctl(PR_GET_NAME, name);
  struct writer body = {.count = 0};
  put(&body, (uint64_t)self, 4);
  put_text(&body, name, LONGEST_NAME);
  send_frame(kinds.thread_told, &body);
  for (;;) {
    struct timespec forever = {.tv_sec = 3600};
    nanosleep(&forever, NULL);
  }
}

void ol_rehearse_crash(void) {
  siginfo_t info;
  memset(&info, 0, sizeof info);
  struct registers registers = {(uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "abort"), 0, ACCESS_UNKNOWN};
  struct timespec none = {.tv_nsec = 0};
  char name[16];
  /* There is no channel yet, so that nothing is sent. */
  struct place place = locate(0, &info, &registers);
  locate_fault(0, &info, &registers, &place);
#if __GLIBC_PREREQ(2, 35)
  struct walk walk = {.has_begun = 1};
  tell_frame(&walk, registers.instruction, 0);
  _Unwind_Backtrace(visit, &walk);
#endif
  nanosleep(&none, NULL);
  prctl(PR_GET_NAME, name);
  signal(OL_WHERE_SIGNAL, SIG_DFL);
  if (getpid() == gettid()) errno = 0;
}

int ol_install_stack_handlers(int channel, struct ol_stack_messages messages) {
  static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS};
  crash_channel = channel;
  runner = getpid();
  kinds = messages;
  stack_t stack = {.ss_sp = alternate_stack, .ss_size = sizeof alternate_stack};
  if (sigaltstack(&stack, NULL) < 0) return errno;
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (size_t index = 0; index < sizeof signals / sizeof *signals; index++)
    if (sigaction(signals[index], &action, NULL) < 0) return errno;
  action.sa_sigaction = on_question;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  return sigaction(OL_WHERE_SIGNAL, &action, NULL) < 0 ? errno : 0;
}
