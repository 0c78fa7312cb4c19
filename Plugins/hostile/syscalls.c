/* Ways past the system call filter: H51 to H69. */
#include "hostile.h"

#include <dlfcn.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>

/* Linux 5.19 and later; older headers don't have them. */
#ifndef SYS_map_shadow_stack
#define SYS_map_shadow_stack 453
#endif

/* --- Other architectures ------------------------------------------------------------------------------------------ */

/* A system call by i386 number: pointers must lie below 4 GiB. */
static long call_i386(long number, long first, long second) {
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(first), "c"(second)
                   : "memory", "cc", "r8", "r9", "r10", "r11");
  return result;
}

static void *low_page(void) {
  return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
}

/* H51: mkdir by its i386 number, 39, which natively is the harmless getpid. Canary: `h51-canary` in the container. */
EXPORT int32_t h51_int80_mkdir(void) {
  char *path = low_page();
  if (path == MAP_FAILED) return errno;
  strcpy(path, in_container("h51-canary"));
  return (int32_t)-call_i386(39, (long)path, 0755);
}

/* H51: a socket through socketcall(2): i386 number 102, natively the harmless getuid. */
EXPORT int32_t h51_int80_socketcall(void) {
  int *arguments = low_page();
  if (arguments == MAP_FAILED) return errno;
  arguments[0] = 1, arguments[1] = 1, arguments[2] = 0;
  long descriptor = call_i386(102, 1, (long)arguments);
  if (descriptor < 0) return (int32_t)-descriptor;
  return outcome(close((int)descriptor));
}

/* H52: getpid by its x32 number. */
EXPORT int32_t h52_x32_getpid(void) { return outcome(syscall(SYS_getpid | 0x40000000)); }

/* --- Terminals ---------------------------------------------------------------------------------------------------- */

static int32_t type_into_terminal(unsigned long request) {
  char key = 'x';
  int number = 0, unlocked = 0, master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), terminal = 0;
  if (master >= 0 && ioctl(master, TIOCSPTLCK, &unlocked) == 0 && ioctl(master, TIOCGPTN, &number) == 0) {
    char path[32];
    snprintf(path, sizeof path, "/dev/pts/%d", number);
    terminal = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
  }
  return outcome(syscall(SYS_ioctl, terminal, request, &key));
}

/* H53: types into the terminal of whoever started the host. Where none can be opened, standard input is tried. */
EXPORT int32_t h53_tiocsti(void) { return type_into_terminal(TIOCSTI); }

/* H53: the same with a high half that the kernel ignores and a filter may compare. */
EXPORT int32_t h53_tiocsti_high(void) { return type_into_terminal(TIOCSTI | 1UL << 32); }

/* H53: the console's own way to paste. */
EXPORT int32_t h53_tioclinux(void) {
  char paste = 3;
  return outcome(syscall(SYS_ioctl, 0, 0x541cUL, &paste));
}

/* --- New processes and namespaces --------------------------------------------------------------------------------- */

/* H55: calls that no filter sees. */
EXPORT int32_t h55_io_uring(void) {
  struct io_uring_params parameters;
  memset(&parameters, 0, sizeof parameters);
  return opened(syscall(SYS_io_uring_setup, 4, &parameters));
}

static int32_t reaped(long child) {
  if (child == 0) _exit(0);
  int32_t code = outcome(child);
  if (child > 0) waitpid((pid_t)child, NULL, __WALL);
  return code;
}

/* H56: a process in a user namespace of its own, with the flags where no filter reads them. */
EXPORT int32_t h56_clone3_user(void) {
  struct { uint64_t flags, rest[10]; } arguments = {CLONE_NEWUSER, {0, 0, 0, SIGCHLD}};
  return reaped(syscall(SYS_clone3, &arguments, sizeof arguments));
}

/* H56: the same by clone. */
EXPORT int32_t h56_clone_user(void) { return reaped(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)); }

/* H56: a process that shares all memory, as a thread does, but isn't one. */
EXPORT int32_t h56_clone_vm(void) {
  static char stack[65536] __attribute__((aligned(16)));
  long child;
  /* The child has this stack and leaves at once. */
  __asm__ volatile("syscall\n\ttest %%rax,%%rax\n\tjnz 1f\n\tmov $60,%%eax\n\txor %%edi,%%edi\n\tsyscall\n1:"
                   : "=a"(child)
                   : "a"(SYS_clone), "D"(CLONE_VM | SIGCHLD), "S"(stack + sizeof stack), "d"(0)
                   : "rcx", "r11", "memory");
  if (child < 0) return (int32_t)-child;
  waitpid((pid_t)child, NULL, 0);
  return 0;
}

/* H56: namespaces without a process. */
EXPORT int32_t h56_unshare_user(void) { return outcome(unshare(CLONE_NEWUSER)); }
EXPORT int32_t h56_unshare_net(void) { return outcome(unshare(CLONE_NEWNET)); }

/* H56: descriptors of its own, which no longer are those that the host closed. */
EXPORT int32_t h56_unshare_files(void) { return outcome(unshare(CLONE_FILES)); }

/* H56: enters another namespace. Where there is no descriptor of one, the call itself is the attempt. */
EXPORT int32_t h56_setns(void) {
  int other = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);
  int32_t code = outcome(setns(other, CLONE_NEWUTS));
  if (other >= 0) close(other);
  return code;
}

static void *thread_body(void *number) { return (void *)((uintptr_t)number + 1); }

/* H56: what must go on working beside all that: threads. */
EXPORT int32_t h56_threads_work(void) {
  pthread_t thread;
  void *result = NULL;
  int code = pthread_create(&thread, NULL, thread_body, (void *)41);
  if (code == 0) code = pthread_join(thread, &result);
  return code ? code : (uintptr_t)result == 42 ? 0 : EIO;
}

/* --- One call each ------------------------------------------------------------------------------------------------ */

static union bpf_attr bpf_map = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
static struct perf_event_attr perf = {.type = PERF_TYPE_SOFTWARE, .size = sizeof perf, .config = PERF_COUNT_SW_CPU_CLOCK};
static struct timeval now_time;
static struct timespec now_clock;
static char junk[4096];
static struct { uint32_t version; int pid; } capability_header = {0x20080522, 0};
static struct mount_attr unchanged;
static unsigned group_list[1] = {0};
static struct { long maximum[8]; } mq_attributes = {{0, 1, 16}};
static unsigned ids[1];
static struct { uint64_t flags[2]; } landlock_rules = {{1, 0}};

struct privileged {
  const char *name;
  long number, arguments[6];
};

#define P(value) ((long)(value))

/* Each with arguments that would be accepted, or that do no harm where the call would be let through. */
static const struct privileged calls[] = {
    {"bpf", SYS_bpf, {BPF_MAP_CREATE, P(&bpf_map), sizeof bpf_map}},
    {"perf_event_open", SYS_perf_event_open, {P(&perf), 0, -1, -1, 0}},
    {"add_key", SYS_add_key, {P("user"), P("h64"), P("x"), 1, -2}},
    {"request_key", SYS_request_key, {P("user"), P("h64"), 0, -2}},
    {"keyctl", SYS_keyctl, {0, -2, 1}},
    {"userfaultfd", SYS_userfaultfd, {O_CLOEXEC}},
    {"kexec_load", SYS_kexec_load, {0, 0, 0, 0}},
    {"kexec_file_load", SYS_kexec_file_load, {-1, -1, 0, 0, 4}},
    {"init_module", SYS_init_module, {P(junk), sizeof junk, P("")}},
    {"finit_module", SYS_finit_module, {-1, P(""), 0}},
    {"delete_module", SYS_delete_module, {P("no-such-module"), 0}},
    {"quotactl", SYS_quotactl, {0, 0, 0, 0}},
    {"acct", SYS_acct, {0}},
    {"swapon", SYS_swapon, {P("/no-such-file"), 0}},
    {"swapoff", SYS_swapoff, {P("/no-such-file")}},
    {"reboot", SYS_reboot, {0xfee1dead, 672274793, RB_DISABLE_CAD}},
    {"settimeofday", SYS_settimeofday, {P(&now_time), 0}},
    {"clock_settime", SYS_clock_settime, {CLOCK_REALTIME, P(&now_clock)}},
    {"adjtimex", SYS_adjtimex, {P(junk)}},
    {"clock_adjtime", SYS_clock_adjtime, {CLOCK_REALTIME, P(junk)}},
    {"fanotify_init", SYS_fanotify_init, {0, 0}},
    {"inotify_init1", SYS_inotify_init1, {0}},
    {"lookup_dcookie", SYS_lookup_dcookie, {0, P(junk), sizeof junk}},
    {"nfsservctl", SYS_nfsservctl, {0, 0, 0}},
    {"modify_ldt", SYS_modify_ldt, {0, P(junk), sizeof junk}},
    {"iopl", SYS_iopl, {3}},
    {"ioperm", SYS_ioperm, {0x80, 1, 1}},
    {"personality", SYS_personality, {ADDR_NO_RANDOMIZE}},
    {"personality-exec", SYS_personality, {READ_IMPLIES_EXEC}},
    {"ptrace", SYS_ptrace, {PTRACE_TRACEME, 0, 0, 0}},
    {"mount", SYS_mount, {P("tmpfs"), P("/tmp"), P("tmpfs"), 0, 0}},
    {"umount2", SYS_umount2, {P("/tmp"), 2}},
    {"pivot_root", SYS_pivot_root, {P("/tmp"), P("/tmp")}},
    {"chroot", SYS_chroot, {P("/")}},
    {"open_tree", SYS_open_tree, {AT_FDCWD, P("/tmp"), 1}},
    {"move_mount", SYS_move_mount, {-1, P(""), AT_FDCWD, P("/tmp"), 4}},
    {"fsopen", SYS_fsopen, {P("tmpfs"), 0}},
    {"fspick", SYS_fspick, {AT_FDCWD, P("/"), 0}},
    {"fsmount", SYS_fsmount, {-1, 0, 0}},
    {"mount_setattr", SYS_mount_setattr, {AT_FDCWD, P("/tmp"), 0, P(&unchanged), sizeof unchanged}},
    {"unknown", 600, {0}},
    {"sethostname", SYS_sethostname, {P("h64"), 3}},
    {"setdomainname", SYS_setdomainname, {P("h64"), 3}},
    {"syslog", SYS_syslog, {3, P(junk), sizeof junk}},
    {"vhangup", SYS_vhangup, {0}},
    {"setuid", SYS_setuid, {0}},
    {"setgid", SYS_setgid, {0}},
    {"setgroups", SYS_setgroups, {1, P(group_list)}},
    {"setresuid", SYS_setresuid, {0, 0, 0}},
    {"capset", SYS_capset, {P(&capability_header), P(junk)}},
    {"setsid", SYS_setsid, {0}},
    {"shmget", SYS_shmget, {0, 4096, 0600 | 01000}},
    {"semget", SYS_semget, {0, 1, 0600 | 01000}},
    {"msgget", SYS_msgget, {0, 0600 | 01000}},
    {"mq_open", SYS_mq_open, {P("h98"), O_CREAT | O_RDWR, 0600, P(&mq_attributes)}},
    {"open_by_handle_at", SYS_open_by_handle_at, {AT_FDCWD, P(junk), 0}},
    {"name_to_handle_at", SYS_name_to_handle_at, {AT_FDCWD, P("/"), P(junk), P(ids), 0}},
    {"process_madvise", SYS_process_madvise, {-1, 0, 0, 21, 0}},
    {"pidfd_open", SYS_pidfd_open, {1, 0}},
    {"pidfd_getfd", SYS_pidfd_getfd, {-1, 0, 0}},
    {"pidfd_send_signal", SYS_pidfd_send_signal, {-1, 0, 0, 0}},
    {"kcmp", SYS_kcmp, {1, 1, 1, 0, 0}},
    {"move_pages", SYS_move_pages, {0, 0, 0, 0, 0, 0}},
    {"migrate_pages", SYS_migrate_pages, {0, 64, P(junk), P(junk)}},
    {"mbind", SYS_mbind, {P(junk), 0, 0, 0, 0, 0}},
    {"set_mempolicy", SYS_set_mempolicy, {0, 0, 0}},
    {"get_mempolicy", SYS_get_mempolicy, {0, 0, 0, 0, 0}},
    {"io_setup", SYS_io_setup, {1, P(junk)}},
    {"io_uring_enter", SYS_io_uring_enter, {-1, 0, 0, 0, 0, 0}},
    {"io_uring_register", SYS_io_uring_register, {-1, 0, 0, 0}},
    {"pkey_alloc", SYS_pkey_alloc, {0, 0}},
    {"remap_file_pages", SYS_remap_file_pages, {0, 0, 0, 0, 0}},
    {"mlock2", SYS_mlock2, {P(junk), 1, 0}},
    {"uselib", SYS_uselib, {P("/lib/ld-linux.so.2")}},
    {"sysfs", SYS_sysfs, {3}},
    {"ustat", SYS_ustat, {0, P(junk)}},
    {"arch_prctl", SYS_arch_prctl, {0x1004, P(junk)}},
    {"map_shadow_stack", SYS_map_shadow_stack, {0, 4096, 0}},
    {"landlock_create_ruleset", SYS_landlock_create_ruleset, {P(&landlock_rules), sizeof landlock_rules, 0}},
    {"ptrace-attach", SYS_ptrace, {PTRACE_SEIZE, 1, 0, 0}},
    {"mknod", SYS_mknod, {P("h109"), S_IFCHR | 0600, 0x103}},
};

/* H57, H61, H64, H109: one call that a plugin has no need of, by its name. */
EXPORT int32_t h64_privileged(const char *name) {
  gettimeofday(&now_time, NULL);
  clock_gettime(CLOCK_REALTIME, &now_clock);
  for (size_t index = 0; index < sizeof calls / sizeof *calls; index++) {
    const long *a = calls[index].arguments;
    if (strcmp(calls[index].name, name) == 0)
      return outcome(syscall(calls[index].number, a[0], a[1], a[2], a[3], a[4], a[5]));
  }
  return -1;
}

/* H57: every number that has no call, and those that are new: answered, each, and the report stays bounded. */
EXPORT int32_t h57_every_unknown_number(void) {
  int32_t code = ENOSYS;
  for (long number = 470; number < 2000 && code == ENOSYS; number++)
    code = outcome(syscall(number, -1, -1, -1, -1, -1, -1));
  return code;
}

/* H57: numbers at the ends of the range. Neither is a call of any architecture. */
EXPORT int32_t h57_odd_number(const char *name) {
  return outcome(syscall(strcmp(name, "minus-one") == 0 ? -1L : 0x3fffffffL));
}

/* --- Filters over the filter -------------------------------------------------------------------------------------- */

static int32_t add_filter(unsigned flags, uint32_t action) {
  struct sock_filter code = BPF_STMT(BPF_RET | BPF_K, action);
  struct sock_fprog program = {1, &code};
  long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
  return flags ? opened(result) : outcome(result);
}

/* H58: a listener of its own, to answer its own calls. */
EXPORT int32_t h58_own_listener(void) { return add_filter(SECCOMP_FILTER_FLAG_NEW_LISTENER, SECCOMP_RET_ALLOW); }

/* H58: a filter that would allow everything. Filters only narrow, so letting it is harmless too. */
EXPORT int32_t h58_own_filter(void) { return add_filter(0, SECCOMP_RET_ALLOW); }

/* H58: the same by prctl, which is older. */
EXPORT int32_t h58_prctl_filter(void) {
  struct sock_filter code = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {1, &code};
  return outcome(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

/* --- Out of the call ---------------------------------------------------------------------------------------------- */

static void do_nothing(int number) { (void)number; }

/* H60: returns from the handler of a fault, which faults again, without end. */
EXPORT void h60_fault_loop(void) {
  signal(SIGSEGV, do_nothing);
  *(volatile int *)8 = 1;
}

static jmp_buf gone;
static __attribute__((noinline)) int remember(void) { return setjmp(gone); }

/* H60: jumps into a frame that is no more. */
EXPORT int32_t h60_longjmp(void) {
  if (remember() == 0) longjmp(gone, 1);
  return 0;
}

/* H60: ends the thread that was called. */
EXPORT void h60_pthread_exit(void) { pthread_exit(NULL); }

static void *waiting_thread(void *unused) {
  wait_forever();
  return unused;
}

/* H60: the same, while another thread keeps the process alive: nobody is left to answer. */
EXPORT void h60_leave_a_thread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, waiting_thread, NULL);
  syscall(SYS_exit, 0);
}

/* --- Other processes ---------------------------------------------------------------------------------------------- */

/* H61: has itself traced, so that its calls go another way. */
EXPORT int32_t h61_traceme(void) { return outcome(ptrace(PTRACE_TRACEME, 0, 0, 0)); }

static char source[16] = "h61", target[16];

/* H61: reads a process's memory; its own, which the kernel always lets it. */
EXPORT int32_t h61_process_vm_readv(void) {
  struct iovec local = {target, sizeof target}, remote = {source, sizeof source};
  return outcome(process_vm_readv(getpid(), &local, 1, &remote, 1, 0));
}

/* H61: writes it. */
EXPORT int32_t h61_process_vm_writev(void) {
  struct iovec local = {source, sizeof source}, remote = {target, sizeof target};
  return outcome(process_vm_writev(getpid(), &local, 1, &remote, 1, 0));
}

/* H61: takes a descriptor out of another process. */
EXPORT int32_t h61_pidfd_getfd(void) {
  long process = syscall(SYS_pidfd_open, getpid(), 0);
  return process < 0 ? errno : opened(syscall(SYS_pidfd_getfd, process, 1, 0));
}

/* H61: compares its kernel objects with another's. */
EXPORT int32_t h61_kcmp(void) { return outcome(syscall(SYS_kcmp, getpid(), getpid(), 1, 0, 0)); }

/* H61: signals whatever it can. Signal 0 does nothing but say whether there is anyone. */
EXPORT int32_t h61_signal_everyone(void) { return outcome(kill(-1, 0)); }

static int32_t open_for(int flags, const char *path) { return opened(open(path, flags | O_CLOEXEC)); }

static int32_t open_of_parent(const char *what) {
  char path[64];
  /* In a pid namespace of its own it has no parent; process 1 stands for the host then. */
  snprintf(path, sizeof path, "/proc/%d/%s", getppid() ? getppid() : 1, what);
  return open_for(O_RDONLY, path);
}

/* H63: what the process filesystem tells about the host: `mem`, `environ`, `fd`, `maps`, `root`. */
EXPORT int32_t h63_parent(const char *what) { return open_of_parent(what); }

/* H63: its own memory as a file, which ignores page protection. */
EXPORT int32_t h63_own_memory(void) { return open_for(O_RDWR, "/proc/self/mem"); }

/* H65: one option of prctl(2), by its name. */
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

/* H65: an option with a high half that the kernel ignores. */
EXPORT int32_t h65_prctl_high(void) { return outcome(syscall(SYS_prctl, PR_SET_DUMPABLE | 1UL << 32, 1, 0, 0, 0)); }

/* The soft limit at the hard one: what every process may set for itself. */
static struct rlimit highest(void) {
  struct rlimit limit = {0, 0};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  return limit;
}

/* H66: sets a limit of its own. */
EXPORT int32_t h66_raise(void) {
  struct rlimit limit = highest();
  return outcome(prlimit(0, RLIMIT_NOFILE, &limit, NULL));
}

/* H66: the same by the older call, which the C library doesn't use. */
EXPORT int32_t h66_setrlimit(void) {
  struct rlimit limit = highest();
  return outcome(syscall(SYS_setrlimit, RLIMIT_NOFILE, &limit));
}

/* H66: changes a limit of another process: process 1. The values are those that it has. */
EXPORT int32_t h66_other(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_CORE, &limit) < 0) return errno;
  return outcome(syscall(SYS_prlimit64, 1, RLIMIT_CORE, &limit, NULL));
}

/* H66: reads its own. Allowed. */
EXPORT int32_t h66_read_own(void) {
  struct rlimit limit;
  return outcome(getrlimit(RLIMIT_NOFILE, &limit));
}

/* --- Code of its own ---------------------------------------------------------------------------------------------- */

static const unsigned char answer_42[] = {0xb8, 42, 0, 0, 0, 0xc3}; /* mov $42,%eax; ret */

static int32_t run_code(void *memory) {
  if (memory == MAP_FAILED) return errno;
  return ((int (*)(void))memory)() == 42 ? 0 : EIO;
}

/* H67: memory that may be written and run. */
EXPORT int32_t h67_rwx(void) {
  void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) memcpy(memory, answer_42, sizeof answer_42);
  return run_code(memory);
}

/* H67: written first, then made executable. */
EXPORT int32_t h67_write_then_run(void) {
  void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return errno;
  memcpy(memory, answer_42, sizeof answer_42);
  return mprotect(memory, 4096, PROT_READ | PROT_EXEC) < 0 ? errno : run_code(memory);
}

/* H67: the same by the call with a protection key. */
EXPORT int32_t h67_pkey_mprotect(void) {
  void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return errno;
  memcpy(memory, answer_42, sizeof answer_42);
  return syscall(SYS_pkey_mprotect, memory, 4096, PROT_READ | PROT_EXEC, -1) < 0 ? errno : run_code(memory);
}

/* H67: a file that it wrote, mapped as code: twice, once to write and once to run. */
EXPORT int32_t h67_dual_mapping(void) {
  int file = big_file("h67", 65536);
  unlink(in_container("h67"));
  void *writable = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file < 0 || writable == MAP_FAILED) return errno;
  memcpy(writable, answer_42, sizeof answer_42);
  return run_code(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0));
}

/* H67: the same in a memory file. */
EXPORT int32_t h67_memfd(void) {
  int file = memfd_create("h67", MFD_CLOEXEC);
  if (file < 0 || write(file, answer_42, sizeof answer_42) < 0) return errno;
  return run_code(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0));
}

/* H67: its own code, made writable: what is loaded can't be changed either. */
EXPORT int32_t h67_patch_own_code(void) {
  uintptr_t page = (uintptr_t)run_code & ~(uintptr_t)4095;
  if (mprotect((void *)page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) < 0) return errno;
  return outcome(mprotect((void *)page, 4096, PROT_READ | PROT_EXEC));
}

/* H67: the stack as code. */
EXPORT int32_t h67_stack(void) {
  char here;
  void *page = (void *)((uintptr_t)&here & ~(uintptr_t)4095);
  return outcome(mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
}

/* H67: another library, once the call is running. The loader's message has no number; it stands for EACCES. */
EXPORT int32_t h67_load_late(void) { return dlopen("libnss_hesiod.so.2", RTLD_NOW) ? 0 : EACCES; }

/* --- Other programs ----------------------------------------------------------------------------------------------- */

static char *no_environment[] = {NULL};

/* H68: a shell. Canary: `h68-canary` in the container. */
EXPORT int32_t h68_shell(void) {
  static char command[5000];
  char *arguments[] = {"sh", "-c", command, NULL};
  snprintf(command, sizeof command, "echo > '%s'", in_container("h68-canary"));
  return outcome(execve("/bin/sh", arguments, no_environment));
}

/* H68: the loader as a program, with the program as its argument. */
EXPORT int32_t h68_loader(void) {
  char *arguments[] = {"ld.so", "/bin/true", NULL};
  return outcome(execve("/lib64/ld-linux-x86-64.so.2", arguments, no_environment));
}

/* H68: a program by descriptor. */
EXPORT int32_t h68_execveat(void) {
  char *arguments[] = {"true", NULL};
  int file = open("/bin/true", O_RDONLY | O_CLOEXEC);
  return outcome(syscall(SYS_execveat, file, "", arguments, no_environment, AT_EMPTY_PATH));
}

/* H68: a program in a memory file: Landlock alone lets it run. */
EXPORT int32_t h68_execveat_memfd(void) {
  char *arguments[] = {"true", NULL};
  int file = open("/bin/true", O_RDONLY | O_CLOEXEC), memory = memfd_create("h68", MFD_CLOEXEC);
  if (memory < 0) return errno;
  while (sendfile(memory, file, NULL, MIB) > 0) {
  }
  return outcome(syscall(SYS_execveat, memory, "", arguments, no_environment, AT_EMPTY_PATH));
}

/* H68: a program that it wrote itself. */
EXPORT int32_t h68_own_program(void) {
  char *arguments[] = {"script", NULL}, path[4096];
  strcpy(path, in_container("h68-script"));
  int file = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0700);
  if (file < 0 || write(file, "#!/bin/true\n", 12) < 0) return errno;
  close(file);
  return outcome(execve(path, arguments, no_environment));
}

/* H68: a setuid program. */
EXPORT int32_t h68_setuid_program(void) {
  char *arguments[] = {"su", "--version", NULL};
  return outcome(execve("/bin/su", arguments, no_environment));
}

/* H68: a program as a child, the way libraries do it. */
EXPORT int32_t h68_posix_spawn(void) {
  char *arguments[] = {"true", NULL};
  pid_t child;
  int code = posix_spawn(&child, "/bin/true", NULL, NULL, arguments, no_environment);
  if (code == 0) waitpid(child, NULL, 0);
  return code;
}

/* --- Older ways --------------------------------------------------------------------------------------------------- */

/* H69: calls that the C library no longer makes. */
EXPORT int32_t h69_legacy(const char *name) {
  if (strcmp(name, "open") == 0) return opened(syscall(SYS_open, "/etc/shadow", O_RDONLY | O_CLOEXEC));
  if (strcmp(name, "creat") == 0) return opened(syscall(SYS_creat, "/etc/h69-canary", 0600));
  if (strcmp(name, "access") == 0) return outcome(syscall(SYS_access, "/etc/shadow", 0));
  if (strcmp(name, "stat") == 0) return outcome(syscall(SYS_stat, "/etc/shadow", junk));
  return -1;
}

/* H69: time(2) through the page at a fixed address that old programs call. A kernel may not have it. */
EXPORT int32_t h69_vsyscall(void) {
  long (*volatile legacy_time)(long *) = (long (*)(long *))0xffffffffff600400;
  return legacy_time(NULL) > 0 ? 0 : EIO;
}
