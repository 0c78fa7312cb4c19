/* Constants of system calls' arguments by the names that the manual pages have for them, as this machine's headers define them: some
 * differ between architectures. */
#ifndef OL_CONSTANTS_H
#define OL_CONSTANTS_H

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/epoll.h>
#include <linux/falloc.h>
#include <linux/membarrier.h>
#include <linux/memfd.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>

/* What arguments have the same constants. */
enum ol_constant_set {
  ol_constants_open = 1,
  ol_constants_at,
  ol_constants_rename,
  ol_constants_mode,
  ol_constants_lock,
  ol_constants_fcntl,
  ol_constants_ioctl,
  ol_constants_fallocate,
  ol_constants_protection,
  ol_constants_map,
  ol_constants_advice,
  ol_constants_remap,
  ol_constants_sync,
  ol_constants_memfd,
  ol_constants_membarrier,
  ol_constants_clone,
  ol_constants_prctl,
  ol_constants_personality,
  ol_constants_limit,
  ol_constants_who,
  ol_constants_scheduler,
  ol_constants_wait,
  ol_constants_signal,
  ol_constants_clock,
  ol_constants_timer,
  ol_constants_timerfd,
  ol_constants_epoll,
  ol_constants_eventfd,
  ol_constants_family,
  ol_constants_socket_type,
  ol_constants_protocol,
  ol_constants_level,
  ol_constants_socket_option,
  ol_constants_shutdown,
  ol_constants_ptrace,
  ol_constants_close_range,
};

struct ol_constant {
  enum ol_constant_set set;
  const char *name;
  uint64_t value;
};

/* The `index`-th of all constants; NULL: there are fewer. */
static inline const struct ol_constant *ol_constant_at(size_t index) {
#define C(set, name) {ol_constants_##set, #name, (uint64_t)(name)}
  static const struct ol_constant all[] = {
      C(open, O_RDONLY), C(open, O_WRONLY), C(open, O_RDWR), C(open, O_CREAT), C(open, O_EXCL), C(open, O_NOCTTY), C(open, O_TRUNC),
      C(open, O_APPEND), C(open, O_NONBLOCK), C(open, O_DSYNC), C(open, O_SYNC), C(open, O_CLOEXEC),
      /* Behind feature macros in glibc. */
      {ol_constants_open, "O_DIRECTORY", __O_DIRECTORY}, {ol_constants_open, "O_NOFOLLOW", __O_NOFOLLOW},
      {ol_constants_open, "O_DIRECT", __O_DIRECT}, {ol_constants_open, "O_NOATIME", __O_NOATIME},
      {ol_constants_open, "O_PATH", __O_PATH}, {ol_constants_open, "O_TMPFILE", __O_TMPFILE},
      {ol_constants_at, "AT_SYMLINK_NOFOLLOW", 0x100}, {ol_constants_at, "AT_REMOVEDIR", 0x200},
      {ol_constants_at, "AT_SYMLINK_FOLLOW", 0x400}, {ol_constants_at, "AT_EMPTY_PATH", 0x1000},
      {ol_constants_rename, "RENAME_NOREPLACE", 1}, {ol_constants_rename, "RENAME_EXCHANGE", 2}, {ol_constants_rename, "RENAME_WHITEOUT", 4},
      {ol_constants_mode, "S_ISUID", 04000}, {ol_constants_mode, "S_ISGID", 02000}, {ol_constants_mode, "S_ISVTX", 01000},
      {ol_constants_mode, "S_IRWXU", 0700}, {ol_constants_mode, "S_IRWXG", 070}, {ol_constants_mode, "S_IRWXO", 07},
      C(lock, LOCK_SH), C(lock, LOCK_EX), C(lock, LOCK_NB), C(lock, LOCK_UN),
      C(fcntl, F_DUPFD), C(fcntl, F_GETFD), C(fcntl, F_SETFD), C(fcntl, F_GETFL), C(fcntl, F_SETFL), C(fcntl, F_GETLK),
      C(fcntl, F_SETLK), C(fcntl, F_SETLKW), C(fcntl, F_SETOWN), C(fcntl, F_GETOWN), C(fcntl, F_DUPFD_CLOEXEC),
      {ol_constants_fcntl, "F_OFD_GETLK", 36}, {ol_constants_fcntl, "F_OFD_SETLK", 37}, {ol_constants_fcntl, "F_OFD_SETLKW", 38},
      {ol_constants_fcntl, "F_SETSIG", 10}, {ol_constants_fcntl, "F_SETLEASE", 1024}, {ol_constants_fcntl, "F_NOTIFY", 1026},
      {ol_constants_fcntl, "F_SETPIPE_SZ", 1031}, {ol_constants_fcntl, "F_GETPIPE_SZ", 1032},
      {ol_constants_fcntl, "F_ADD_SEALS", 1033},
      C(ioctl, TCGETS), C(ioctl, TCSETS), C(ioctl, TIOCSTI), C(ioctl, TIOCGWINSZ), C(ioctl, FIONREAD), C(ioctl, FIONBIO),
      C(ioctl, FIOCLEX), C(ioctl, FIONCLEX),
      C(fallocate, FALLOC_FL_KEEP_SIZE), C(fallocate, FALLOC_FL_PUNCH_HOLE), C(fallocate, FALLOC_FL_COLLAPSE_RANGE),
      C(fallocate, FALLOC_FL_ZERO_RANGE), C(fallocate, FALLOC_FL_INSERT_RANGE),
      C(protection, PROT_NONE), C(protection, PROT_READ), C(protection, PROT_WRITE), C(protection, PROT_EXEC),
      C(map, MAP_SHARED), C(map, MAP_PRIVATE), C(map, MAP_FIXED), C(map, MAP_ANONYMOUS), C(map, MAP_LOCKED), C(map, MAP_NORESERVE),
      C(map, MAP_POPULATE), C(map, MAP_HUGETLB), C(map, MAP_GROWSDOWN),
      C(advice, MADV_NORMAL), C(advice, MADV_RANDOM), C(advice, MADV_SEQUENTIAL), C(advice, MADV_WILLNEED),
      C(advice, MADV_DONTNEED), C(advice, MADV_FREE), C(advice, MADV_REMOVE), C(advice, MADV_DONTFORK), C(advice, MADV_MERGEABLE),
      C(advice, MADV_HUGEPAGE), C(advice, MADV_NOHUGEPAGE), C(advice, MADV_DONTDUMP), C(advice, MADV_WIPEONFORK),
      C(advice, MADV_COLD), C(advice, MADV_PAGEOUT), C(advice, MADV_POPULATE_READ), C(advice, MADV_POPULATE_WRITE),
      {ol_constants_remap, "MREMAP_MAYMOVE", 1}, {ol_constants_remap, "MREMAP_FIXED", 2}, {ol_constants_remap, "MREMAP_DONTUNMAP", 4},
      C(sync, MS_ASYNC), C(sync, MS_INVALIDATE), C(sync, MS_SYNC),
      {ol_constants_memfd, "MFD_CLOEXEC", 1}, {ol_constants_memfd, "MFD_ALLOW_SEALING", 2}, {ol_constants_memfd, "MFD_HUGETLB", 4},
      C(membarrier, MEMBARRIER_CMD_QUERY), C(membarrier, MEMBARRIER_CMD_GLOBAL), C(membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED),
      C(clone, CLONE_VM), C(clone, CLONE_FS), C(clone, CLONE_FILES), C(clone, CLONE_SIGHAND), C(clone, CLONE_PTRACE),
      C(clone, CLONE_VFORK), C(clone, CLONE_PARENT), C(clone, CLONE_THREAD), C(clone, CLONE_NEWNS), C(clone, CLONE_NEWCGROUP),
      C(clone, CLONE_NEWUTS), C(clone, CLONE_NEWIPC), C(clone, CLONE_NEWUSER), C(clone, CLONE_NEWPID), C(clone, CLONE_NEWNET),
      C(prctl, PR_SET_PDEATHSIG), C(prctl, PR_GET_PDEATHSIG), C(prctl, PR_GET_DUMPABLE), C(prctl, PR_SET_DUMPABLE),
      C(prctl, PR_GET_KEEPCAPS), C(prctl, PR_SET_KEEPCAPS), C(prctl, PR_SET_NAME), C(prctl, PR_GET_NAME), C(prctl, PR_GET_SECCOMP),
      C(prctl, PR_SET_SECCOMP), C(prctl, PR_CAPBSET_READ), C(prctl, PR_CAPBSET_DROP), C(prctl, PR_SET_TIMERSLACK),
      C(prctl, PR_SET_CHILD_SUBREAPER), C(prctl, PR_SET_NO_NEW_PRIVS), C(prctl, PR_GET_NO_NEW_PRIVS), C(prctl, PR_SET_THP_DISABLE),
      C(prctl, PR_SET_MM), C(prctl, PR_SET_PTRACER), C(prctl, PR_CAP_AMBIENT), {ol_constants_prctl, "PR_SET_VMA", 0x53564d41},
      {ol_constants_personality, "ADDR_NO_RANDOMIZE", 0x0040000}, {ol_constants_personality, "READ_IMPLIES_EXEC", 0x0400000},
      C(limit, RLIMIT_CPU), C(limit, RLIMIT_FSIZE), C(limit, RLIMIT_DATA), C(limit, RLIMIT_STACK), C(limit, RLIMIT_CORE),
      {ol_constants_limit, "RLIMIT_RSS", 5}, {ol_constants_limit, "RLIMIT_NPROC", 6}, C(limit, RLIMIT_NOFILE),
      {ol_constants_limit, "RLIMIT_MEMLOCK", 8}, C(limit, RLIMIT_AS),
      C(who, PRIO_PROCESS), C(who, PRIO_PGRP), C(who, PRIO_USER),
      {ol_constants_scheduler, "SCHED_OTHER", 0}, {ol_constants_scheduler, "SCHED_FIFO", 1}, {ol_constants_scheduler, "SCHED_RR", 2},
      {ol_constants_scheduler, "SCHED_BATCH", 3}, {ol_constants_scheduler, "SCHED_IDLE", 5}, {ol_constants_scheduler, "SCHED_DEADLINE", 6},
      C(wait, WNOHANG), C(wait, WUNTRACED), C(wait, WCONTINUED),
      C(signal, SIGHUP), C(signal, SIGINT), C(signal, SIGQUIT), C(signal, SIGILL), C(signal, SIGTRAP), C(signal, SIGABRT),
      C(signal, SIGBUS), C(signal, SIGFPE), C(signal, SIGKILL), C(signal, SIGUSR1), C(signal, SIGSEGV), C(signal, SIGUSR2),
      C(signal, SIGPIPE), C(signal, SIGALRM), C(signal, SIGTERM), C(signal, SIGCHLD), C(signal, SIGCONT), C(signal, SIGSTOP),
      C(signal, SIGTSTP), C(signal, SIGXCPU), C(signal, SIGXFSZ), C(signal, SIGPROF), C(signal, SIGSYS),
      C(clock, CLOCK_REALTIME), C(clock, CLOCK_MONOTONIC), C(clock, CLOCK_PROCESS_CPUTIME_ID), C(clock, CLOCK_THREAD_CPUTIME_ID),
      C(clock, CLOCK_BOOTTIME), C(clock, CLOCK_REALTIME_ALARM), C(clock, CLOCK_BOOTTIME_ALARM),
      {ol_constants_timer, "ITIMER_REAL", 0}, {ol_constants_timer, "ITIMER_VIRTUAL", 1}, {ol_constants_timer, "ITIMER_PROF", 2},
      C(timerfd, TFD_CLOEXEC), C(timerfd, TFD_NONBLOCK), C(timerfd, TFD_TIMER_ABSTIME),
      C(epoll, EPOLL_CTL_ADD), C(epoll, EPOLL_CTL_DEL), C(epoll, EPOLL_CTL_MOD),
      C(eventfd, EFD_CLOEXEC), C(eventfd, EFD_NONBLOCK), C(eventfd, EFD_SEMAPHORE),
      C(family, AF_UNIX), C(family, AF_INET), C(family, AF_INET6), C(family, AF_NETLINK), C(family, AF_PACKET), C(family, AF_ALG),
      C(family, AF_VSOCK), C(family, AF_BLUETOOTH), C(family, AF_CAN),
      C(socket_type, SOCK_STREAM), C(socket_type, SOCK_DGRAM), C(socket_type, SOCK_RAW), C(socket_type, SOCK_SEQPACKET),
      C(socket_type, SOCK_CLOEXEC), C(socket_type, SOCK_NONBLOCK),
      {ol_constants_protocol, "IPPROTO_ICMP", 1}, {ol_constants_protocol, "IPPROTO_TCP", 6}, {ol_constants_protocol, "IPPROTO_UDP", 17},
      {ol_constants_protocol, "IPPROTO_SCTP", 132}, {ol_constants_protocol, "IPPROTO_MPTCP", 262},
      C(level, SOL_SOCKET), {ol_constants_level, "IPPROTO_TCP", 6}, {ol_constants_level, "IPPROTO_IPV6", 41},
      C(socket_option, SO_REUSEADDR), C(socket_option, SO_TYPE), C(socket_option, SO_ERROR), C(socket_option, SO_BROADCAST),
      C(socket_option, SO_SNDBUF), C(socket_option, SO_RCVBUF), C(socket_option, SO_KEEPALIVE), C(socket_option, SO_LINGER),
      C(socket_option, SO_PEERCRED), C(socket_option, SO_BINDTODEVICE), C(socket_option, SO_PEERSEC),
      C(shutdown, SHUT_RD), C(shutdown, SHUT_WR), C(shutdown, SHUT_RDWR),
      C(ptrace, PTRACE_TRACEME), C(ptrace, PTRACE_ATTACH), C(ptrace, PTRACE_SEIZE), C(ptrace, PTRACE_PEEKDATA), C(ptrace, PTRACE_POKEDATA),
      C(close_range, CLOSE_RANGE_UNSHARE), C(close_range, CLOSE_RANGE_CLOEXEC),
  };
#undef C
  return index < sizeof all / sizeof *all ? &all[index] : NULL;
}

#endif
