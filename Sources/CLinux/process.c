#include "ol_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <malloc.h>
#include <nss.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int argument_count;
static char **arguments;

/* glibc gives a constructor what it gives main(3). Swift's CommandLine reads /proc/self/cmdline, and has no words where there is none. */
__attribute__((constructor)) static void keep_arguments(int count, char **words) {
  argument_count = count;
  arguments = words;
}

int ol_arguments(char ***words) {
  *words = arguments;
  return argument_count;
}

int ol_spawn(const char *path, char *const *argv, char *const *envp, int channel, pid_t *pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int error = posix_spawn_file_actions_init(&actions);
  if (error) return error;
  error = posix_spawnattr_init(&attributes);
  if (error) {
    posix_spawn_file_actions_destroy(&actions);
    return error;
  }
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  /* A session of its own: Ctrl-C on the terminal is the host's to handle. */
  if (!error) error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  if (!error) error = posix_spawnattr_setsigmask(&attributes, &none);
  if (!error) error = posix_spawnattr_setsigdefault(&attributes, &all);
  if (!error) error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  /* dup2 onto itself keeps close-on-exec unless glibc clears it, which it does since 2.29. */
  if (!error) error = posix_spawn_file_actions_adddup2(&actions, channel, 3);
  if (!error) error = posix_spawn_file_actions_addclosefrom_np(&actions, 4);
  if (!error) error = posix_spawn(pid, path, &actions, &attributes, argv, envp);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

int ol_fork(pid_t *pid) {
  *pid = fork();
  return *pid < 0 ? errno : 0;
}

int ol_pidfd_open(pid_t pid, int *pidfd) {
  *pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
  return *pidfd < 0 ? errno : 0;
}

int ol_socket_maker(int socket, pid_t *pid) {
  struct ucred maker;
  socklen_t size = sizeof maker;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &maker, &size) < 0) return errno;
  *pid = maker.pid;
  return 0;
}

int ol_pidfd_signal(int pidfd, int signal) {
  return syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) < 0 ? errno : 0;
}

int ol_pidfd_signal_group(int pidfd, pid_t pid, int signal) {
  const unsigned process_group = 1u << 2;
  if (syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, process_group) == 0) return 0;
  if (errno != EINVAL) return errno;
  int error = ol_pidfd_signal(pidfd, 0);
  if (error) return error;
  return kill(-pid, signal) < 0 ? errno : 0;
}

static void tell_file_limit(int signal) {
  (void)signal;
  int error = errno;
  syscall(SYS_fallocate, -1, FALLOC_FL_KEEP_SIZE, 0L, (long)OL_FILE_LIMIT_MET);
  errno = error;
}

int ol_tell_file_limit(void) {
  struct sigaction action = {.sa_handler = tell_file_limit, .sa_flags = SA_RESTART | SA_ONSTACK};
  return sigaction(SIGXFSZ, &action, NULL) < 0 ? errno : 0;
}

int ol_lead_session(void) { return setsid() < 0 ? errno : 0; }

int ol_set_slice(pid_t thread, uint64_t nanoseconds) {
  /* struct sched_attr as of Linux 3.14 (SCHED_ATTR_SIZE_VER0) */
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attributes;
  const uint64_t reset_on_fork = 1;
  memset(&attributes, 0, sizeof attributes);
  if (syscall(SYS_sched_getattr, thread, &attributes, sizeof attributes, 0) < 0) return errno;
  if (attributes.policy != SCHED_OTHER) return ENOTSUP;
  attributes.size = sizeof attributes;
  attributes.flags = reset_on_fork;
  attributes.runtime = nanoseconds;
  return syscall(SYS_sched_setattr, thread, &attributes, 0) < 0 ? errno : 0;
}

int ol_pidfd_release_memory(int pidfd) {
  return syscall(448 /* process_mrelease, Linux 5.15 */, pidfd, 0) < 0 ? errno : 0;
}

int ol_pidfd_pid(int pidfd, pid_t *pid) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/self/fdinfo/%d", pidfd);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno;
  ssize_t count = read(file, text, sizeof text - 1);
  int error = count < 0 ? errno : 0;
  close(file);
  if (error) return error;
  text[count] = 0;
  const char *line = strstr(text, "\nPid:");
  if (!line) return ENOTSUP;
  *pid = atoi(line + 5);
  return *pid > 0 ? 0 : ESRCH;
}

int ol_reap(pid_t *pid, int *code, int *status, uint64_t *cpu_nanoseconds) {
  siginfo_t info;
  struct rusage usage;
  memset(&info, 0, sizeof info);
  /* The system call, unlike glibc's waitid, also hands out the child's usage. __WALL: a thread that has made this process its
     tracer (PTRACE_TRACEME) is no child of the usual kind, and its process doesn't end before it is reaped. */
  if (syscall(SYS_waitid, P_ALL, 0, &info, WEXITED | WNOHANG | __WALL, &usage) < 0) return errno;
  *pid = info.si_pid;
  if (!info.si_pid) return 0;
  *code = info.si_code;
  *status = info.si_status;
  *cpu_nanoseconds = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
                     (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
  return 0;
}

int ol_wait(pid_t pid, int *code, int *status) {
  siginfo_t info;
  memset(&info, 0, sizeof info);
  while (waitid(P_PID, (id_t)pid, &info, WEXITED) < 0)
    if (errno != EINTR) return errno;
  *code = info.si_code;
  *status = info.si_status;
  return 0;
}

int ol_process_cpu(pid_t pid, uint64_t *nanoseconds) {
  clockid_t clock;
  struct timespec time;
  int error = clock_getcpuclockid(pid, &clock);
  if (error) return error;
  if (clock_gettime(clock, &time) < 0) return errno;
  *nanoseconds = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
  return 0;
}

int ol_set_rlimit(int resource, uint64_t soft, uint64_t hard) {
  struct rlimit limit = {soft, hard};
  return setrlimit((__rlimit_resource_t)resource, &limit) < 0 ? errno : 0;
}

int ol_get_rlimit(int resource, uint64_t *soft, uint64_t *hard) {
  struct rlimit limit;
  if (getrlimit((__rlimit_resource_t)resource, &limit) < 0) return errno;
  *soft = limit.rlim_cur;
  *hard = limit.rlim_max;
  return 0;
}

int ol_populate(uintptr_t address, size_t bytes, int write) {
  return madvise((void *)address, bytes, write ? 23 : 22) < 0 ? errno : 0;
}

int ol_make_code_huge(uintptr_t start, size_t bytes) {
  char *room = mmap(NULL, bytes + OL_HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return errno;
  char *copy = (char *)(((uintptr_t)room + OL_HUGE_PAGE - 1) & ~(OL_HUGE_PAGE - 1));
  int forbidden = prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0);
  int done = prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0) == 0 && mprotect(copy, bytes, PROT_READ | PROT_WRITE) == 0;
  if (done) {
    /* Where that is allowed, the first touch of each already makes it huge; collapsing it is then nothing but the proof. */
    madvise(copy, bytes, MADV_HUGEPAGE);
    memcpy(copy, (const void *)start, bytes);
  }
  done = done && madvise(copy, bytes, 25 /* MADV_COLLAPSE, Linux 6.1 */) == 0 &&
         mprotect(copy, bytes, PROT_READ | PROT_EXEC) == 0 &&
         mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)start) != MAP_FAILED;
  int error = done ? 0 : errno;
  prctl(PR_SET_THP_DISABLE, forbidden == 1, 0, 0, 0);
  munmap(room, bytes + OL_HUGE_PAGE);
  return error;
}

static void *wait_for_end(void *pipe) {
  char end;
  while (read(*(int *)pipe, &end, 1) < 0 && errno == EINTR) {}
  return NULL;
}

int ol_start_threads(int count, size_t bytes) {
  enum { most = 64 };
  pthread_t threads[most];
  int ends[2], started = 0, error = 0;
  struct rlimit space;
  if (count > most) return EINVAL;
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) {
    /* The allocator would reserve 64 MiB of addresses for each thread, and take them from those that come later. */
    mallopt(M_ARENA_MAX, 1);
    /* Libraries and files that are mapped later count as well. */
    bytes += 64 << 20;
  }
  /* With the stacks that they will have: RLIMIT_DATA and RLIMIT_AS count them. */
  while (started < count && (error = pthread_create(&threads[started], NULL, wait_for_end, &ends[0])) == 0) started++;
  /* Who can't allocate beside them doesn't get far. */
  void *rest = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (rest != MAP_FAILED) munmap(rest, bytes);
  else if (error == 0) error = ENOMEM;
  close(ends[1]);
  for (int index = 0; index < started; index++) pthread_join(threads[index], NULL);
  close(ends[0]);
  return error;
}

void ol_exit_now(int status) { _exit(status); }

void ol_name_thread(const char *name) { prctl(PR_SET_NAME, name); }

void ol_keep_memory_small(void) {
  mallopt(M_ARENA_MAX, 4);
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

void ol_look_up_names_in_files(void) {
  static const char *const databases[] = {"aliases", "ethers", "group", "gshadow", "initgroups", "netgroup", "networks",
                                          "passwd", "protocols", "publickey", "rpc", "services", "shadow"};
  for (size_t index = 0; index < sizeof databases / sizeof *databases; index++)
    __nss_configure_lookup(databases[index], "files");
  __nss_configure_lookup("hosts", "files dns");
}

void ol_write_lines(void) { setvbuf(stdout, NULL, _IOLBF, 0); }

void ol_flush_output(void) {
  if (__fpending(stdout) == 0) return;
  /* A thread that holds the stream keeps what it has; this one doesn't wait for it. */
  if (ftrylockfile(stdout) != 0) return;
  fflush_unlocked(stdout);
  funlockfile(stdout);
}

static int release_code(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size, (void)context;
  /* The kernel's own page has no file to come back from. */
  if (info->dlpi_name && strstr(info->dlpi_name, "vdso")) return 0;
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  for (int index = 0; index < info->dlpi_phnum; index++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[index];
    /* What was never writable is as it is in the file: relocated data lies in parts that were. */
    if (part->p_type != PT_LOAD || part->p_flags & PF_W) continue;
    uintptr_t start = (info->dlpi_addr + part->p_vaddr) & ~(page - 1);
    uintptr_t end = (info->dlpi_addr + part->p_vaddr + part->p_memsz) & ~(page - 1);
    if (end > start) madvise((void *)start, end - start, MADV_DONTNEED);
  }
  return 0;
}

void ol_release_code(void) { dl_iterate_phdr(release_code, NULL); }

void ol_trim_memory(void) { malloc_trim(0); }

size_t ol_memory_in_use(void) {
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

int ol_clock_is_synchronised(void) {
  struct timex state = {0};
  int result = adjtimex(&state);
  if (result < 0) return 1;
  return result != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
}

uint64_t ol_slept(void) {
  struct timespec boot, awake;
  /* In this order: a thread that is put aside between the two sees too little, never a sleep that wasn't. */
  clock_gettime(CLOCK_BOOTTIME, &boot);
  clock_gettime(CLOCK_MONOTONIC, &awake);
  int64_t slept = (int64_t)(boot.tv_sec - awake.tv_sec) * 1000000000 + (boot.tv_nsec - awake.tv_nsec);
  return slept > 0 ? (uint64_t)slept : 0;
}

void ol_erase(void *bytes, size_t count) { if (bytes) explicit_bzero(bytes, count); }

int ol_signal_thread(pid_t process, pid_t thread, int signal) {
  return syscall(SYS_tgkill, process, thread, signal) < 0 ? errno : 0;
}
