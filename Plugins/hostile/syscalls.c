/* System calls that the filter answers. The arguments of the tables are harmless: even without walls nothing happens. */
#include "hostile.h"
#include <linux/seccomp.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#define CALL(name, ...) \
  EXPORT int32_t name(void) { return TRY(syscall(__VA_ARGS__)); }
#define SOCKET(name, family, type, protocol) \
  EXPORT int32_t name(void) { const int file = socket(family, type, protocol); return file < 0 ? errno : TRY(close(file)); }
#define NONE 0L
#define BAD (-1L)

/* H51: mkdir("/tmp/h51") with the number of i386 through int 0x80 */
EXPORT void h51_int80(void) {
  char *path = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  long result = 39;
  if (path == MAP_FAILED) return;
  strcpy(path, "/tmp/h51");
  __asm__ volatile("int $0x80" : "+a"(result) : "b"(path), "c"(0700L) : "memory", "r8", "r9", "r10", "r11");
  for (;;) pause();
}
/* H51: socketcall of i386 */
EXPORT void h51_socketcall(void) {
  long result = 102;
  __asm__ volatile("int $0x80" : "+a"(result) : "b"(1L), "c"(0L) : "memory", "r8", "r9", "r10", "r11");
  for (;;) pause();
}
/* H52: getpid with the bit of x32 */
CALL(h52_x32, 0x40000000L | SYS_getpid)
/* H53: pushes a character into a terminal's queue, with rubbish in the high half */
CALL(h53_tiocsti, SYS_ioctl, 0L, TIOCSTI | 1L << 32, "x")
/* H53: the console's own ioctl */
CALL(h53_tioclinux, SYS_ioctl, 0L, 0x541cL, "\3")
/* H55: a ring of its own calls */
CALL(h55_io_uring, SYS_io_uring_setup, 1L, NONE)
/* H56: clone3, which every thread library tries first */
CALL(h56_clone3, SYS_clone3, NONE, NONE)
/* H56: a user namespace through clone */
EXPORT int32_t h56_clone_newuser(void) {
  const long child = syscall(SYS_clone, (long)CLONE_NEWUSER | SIGCHLD, 0L, 0L, 0L, 0L);
  if (child == 0) _exit(0);
  return TRY(child);
}
/* H56: leaves the namespaces */
CALL(h56_unshare, SYS_unshare, (long)CLONE_NEWUSER)
/* H56: enters another namespace */
CALL(h56_setns, SYS_setns, BAD, NONE)
/* H57: the new way to mount */
CALL(h57_open_tree, 428L, BAD, "", NONE)
/* H57: a file system context */
CALL(h57_fsopen, 430L, NONE, NONE)
/* H57: moves a mount */
CALL(h57_move_mount, 429L, BAD, "", BAD, "", NONE)
/* H57: changes a mount */
CALL(h57_mount_setattr, 442L, BAD, "", NONE, NONE, NONE)
/* H57: a number that no kernel knows yet */
CALL(h57_unknown, 600L)
/* H57: a number far beyond the table */
CALL(h57_unknown_far, 100000L)
/* H58: a filter of its own with a listener */
CALL(h58_seccomp_listener, SYS_seccomp, (long)SECCOMP_SET_MODE_FILTER, (long)SECCOMP_FILTER_FLAG_NEW_LISTENER, NONE)
/* H58: a filter through prctl */
CALL(h58_prctl_seccomp, SYS_prctl, (long)PR_SET_SECCOMP, 2L, NONE)
/* H61: traces another process */
CALL(h61_ptrace, SYS_ptrace, 16L /* PTRACE_ATTACH */, -1L, NONE, NONE)
/* H61: reads another process */
CALL(h61_process_vm_readv, SYS_process_vm_readv, 1L, NONE, NONE, NONE, NONE, NONE)
/* H61: writes into another process */
CALL(h61_process_vm_writev, SYS_process_vm_writev, 1L, NONE, NONE, NONE, NONE, NONE)
/* H61: a handle on another process */
CALL(h61_pidfd_open, SYS_pidfd_open, -1L, NONE)
/* H61: takes a descriptor out of another process */
CALL(h61_pidfd_getfd, 438L, BAD, NONE, NONE)
/* H61: compares processes */
CALL(h61_kcmp, SYS_kcmp, -1L, -1L, NONE, NONE, NONE)
/* H61: signals another process */
CALL(h61_kill, SYS_kill, 0x3fffffffL, NONE)
/* H61: signals through a handle */
CALL(h61_pidfd_send_signal, SYS_pidfd_send_signal, BAD, NONE, NONE, NONE)

/* H64: programs in the kernel */
CALL(h64_bpf, SYS_bpf, BAD, NONE, NONE)
/* H64: performance counters */
CALL(h64_perf_event_open, SYS_perf_event_open, NONE, NONE, NONE, NONE, NONE)
/* H64: adds a key */
CALL(h64_add_key, SYS_add_key, NONE, NONE, NONE, NONE, NONE)
/* H64: asks for a key */
CALL(h64_request_key, SYS_request_key, NONE, NONE, NONE, NONE)
/* H64: handles keyrings */
CALL(h64_keyctl, SYS_keyctl, BAD, NONE, NONE, NONE, NONE)
/* H64: another kernel */
CALL(h64_kexec_load, SYS_kexec_load, NONE, NONE, NONE, BAD)
/* H64: a kernel module */
CALL(h64_init_module, SYS_init_module, NONE, NONE, NONE)
/* H64: a kernel module from a file */
CALL(h64_finit_module, SYS_finit_module, BAD, NONE, NONE)
/* H64: removes a kernel module */
CALL(h64_delete_module, SYS_delete_module, BAD, NONE)
/* H64: disk quotas */
CALL(h64_quotactl, SYS_quotactl, BAD, NONE, NONE, NONE)
/* H64: process accounting */
CALL(h64_acct, SYS_acct, BAD)
/* H64: swap space */
CALL(h64_swapon, SYS_swapon, BAD, NONE)
/* H64: removes swap space */
CALL(h64_swapoff, SYS_swapoff, BAD)
/* H64: restarts the machine (without the magic numbers that it takes) */
CALL(h64_reboot, SYS_reboot, NONE, NONE, NONE, NONE)
/* H64: sets the clock */
CALL(h64_settimeofday, SYS_settimeofday, BAD, BAD)
/* H64: sets a clock */
CALL(h64_clock_settime, SYS_clock_settime, BAD, BAD)
/* H64: steers the clock */
CALL(h64_adjtimex, SYS_adjtimex, BAD)
/* H64: watches all file systems */
CALL(h64_fanotify_init, SYS_fanotify_init, BAD, BAD)
/* H64: a cookie of a profiler */
CALL(h64_lookup_dcookie, SYS_lookup_dcookie, BAD, NONE, NONE)
/* H64: the old file server interface */
CALL(h64_nfsservctl, SYS_nfsservctl, BAD, NONE, NONE)
/* H64: segments */
CALL(h64_modify_ldt, SYS_modify_ldt, BAD, NONE, NONE)
/* H64: input and output ports */
CALL(h64_iopl, SYS_iopl, BAD)
/* H64: single ports */
CALL(h64_ioperm, SYS_ioperm, BAD, BAD, NONE)
/* H64: no address randomization */
CALL(h64_personality, SYS_personality, 0x0040000L)
/* H64: its own page faults */
CALL(h64_userfaultfd, SYS_userfaultfd, BAD)
/* H64: the kernel's log */
CALL(h64_syslog, SYS_syslog, 10L, NONE, NONE)
/* H64: the machine's name */
CALL(h64_sethostname, SYS_sethostname, NONE, BAD)
/* H64: another user */
CALL(h64_setuid, SYS_setuid, BAD)
/* H64: capabilities */
CALL(h64_capset, SYS_capset, NONE, NONE)
/* H64: message queues */
CALL(h64_mq_open, SYS_mq_open, BAD, NONE, NONE, NONE)
/* H64: System V messages */
CALL(h64_msgget, SYS_msgget, 0x7e57L, NONE)
/* H64: System V semaphores */
CALL(h64_semget, SYS_semget, NONE, BAD, NONE)
/* H64: asynchronous input and output of old */
CALL(h64_io_setup, SYS_io_setup, NONE, NONE)
/* H64: moves pages between nodes */
CALL(h64_move_pages, SYS_move_pages, BAD, BAD, NONE, NONE, NONE, NONE)
/* H64: advises another process's memory */
CALL(h64_process_madvise, 440L, BAD, NONE, NONE, NONE, NONE)

/* H65: becomes dumpable */
CALL(h65_dumpable, SYS_prctl, (long)PR_SET_DUMPABLE, 1L, NONE, NONE, NONE)
/* H65: outlives its parent */
CALL(h65_pdeathsig, SYS_prctl, (long)PR_SET_PDEATHSIG, NONE, NONE, NONE, NONE)
/* H65: adopts orphans */
CALL(h65_subreaper, SYS_prctl, (long)PR_SET_CHILD_SUBREAPER, 1L, NONE, NONE, NONE)
/* H65: moves its own memory descriptions */
CALL(h65_mm, SYS_prctl, (long)PR_SET_MM, BAD, NONE, NONE, NONE)
/* H65: turns speculation on */
CALL(h65_speculation, SYS_prctl, (long)PR_SET_SPECULATION_CTRL, NONE, 2L, NONE, NONE)
/* H65: names its thread, which anyone may */
CALL(h65_name, SYS_prctl, (long)PR_SET_NAME, "plugin", NONE, NONE, NONE)

/* H66: raises a limit of its own */
EXPORT int32_t h66_raise(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return errno;
  return TRY(setrlimit(RLIMIT_NOFILE, &limit));
}
/* H66: limits of another process */
CALL(h66_other, SYS_prlimit64, 0x3fffffffL, NONE, NONE, NONE)
/* H66: reads its own limits, which anyone may */
EXPORT int32_t h66_read(void) { struct rlimit limit; return TRY(getrlimit(RLIMIT_NOFILE, &limit)); }

static int32_t mapping(int protection, int flags, int file) {
  void *bytes = mmap(NULL, 4096, protection, flags, file, 0);
  return bytes == MAP_FAILED ? errno : TRY(munmap(bytes, 4096));
}
/* H67: memory that is writable and executable */
EXPORT int32_t h67_rwx(void) { return mapping(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1); }
/* H67: the same, shared */
EXPORT int32_t h67_shared_rwx(void) { return mapping(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1); }
/* H67: writes code, then makes it executable */
EXPORT int32_t h67_mprotect(void) {
  char *bytes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) return errno;
  bytes[0] = (char)0xc3;
  const int32_t code = TRY(mprotect(bytes, 4096, PROT_READ | PROT_EXEC));
  munmap(bytes, 4096);
  return code;
}
/* H67: the same through protection keys */
EXPORT int32_t h67_pkey_mprotect(void) {
  char *bytes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) return errno;
  const int32_t code = TRY(syscall(SYS_pkey_mprotect, bytes, 4096L, (long)(PROT_READ | PROT_EXEC), -1L));
  munmap(bytes, 4096);
  return code;
}
/* H67: code from a file that it wrote itself */
EXPORT int32_t h67_file(void) {
  const int file = open(in_container("h67"), O_RDWR | O_CREAT | O_CLOEXEC, 0700);
  if (file < 0) return errno;
  if (ftruncate(file, 4096) < 0) return errno;
  const int32_t code = mapping(PROT_READ | PROT_EXEC, MAP_SHARED, file);
  close(file);
  unlink(in_container("h67"));
  return code;
}
/* H67: makes its own code writable */
EXPORT int32_t h67_own_code(void) {
  char *page = (char *)((uintptr_t)h67_rwx & ~(uintptr_t)4095);
  const int32_t code = TRY(mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
  if (!code) mprotect(page, 4096, PROT_READ | PROT_EXEC);
  return code;
}

/* In a child where that is possible, so that the same code can succeed without walls. */
static int32_t execute(int how) {
  char *arguments[] = {(char *)"true", how == 1 ? (char *)"/bin/true" : NULL, NULL}, *environment[] = {NULL};
  int code = 0, status = 0;
  const pid_t child = fork();
  if (child > 0) return waitpid(child, &status, 0) < 0 ? errno : WEXITSTATUS(status);
  if (how == 0) syscall(SYS_execve, "/bin/true", arguments, environment);
  if (how == 1) syscall(SYS_execve, "/lib64/ld-linux-x86-64.so.2", arguments, environment);
  if (how == 2) syscall(SYS_execveat, AT_FDCWD, "/bin/true", arguments, environment, 0);
  code = errno;
  if (child == 0) _exit(code);
  return code;
}
/* H68: runs a program */
EXPORT int32_t h68_execve(void) { return execute(0); }
/* H68: runs the loader, which would load anything */
EXPORT int32_t h68_loader(void) { return execute(1); }
/* H68: runs a program by descriptor */
EXPORT int32_t h68_execveat(void) { return execute(2); }

/* H69: the old open call for a file that isn't there for it */
CALL(h69_open, SYS_open, "/etc/shadow", NONE, NONE)
/* H69: the old creat call outside the container */
CALL(h69_creat, SYS_creat, "/usr/lib/h69/h69", 0600L)
/* H69: the old access call */
CALL(h69_access, SYS_access, "/etc/shadow", NONE)
/* H69: the clock through the page of virtual system calls */
EXPORT int32_t h69_vsyscall(void) { return ((long (*)(long *))(uintptr_t)0xffffffffff600400)(NULL) > 0 ? 0 : ENOSYS; }

/* H83: a Unix socket, the way to any service of the machine */
SOCKET(h83_unix, AF_UNIX, SOCK_STREAM, 0)
/* H83: connects to the container service's socket */
EXPORT int32_t h83_connect(void) {
  const struct sockaddr address = {AF_UNIX, "/run/nobody"};
  const int file = socket(AF_UNIX, SOCK_DGRAM, 0);
  if (file < 0) return errno;
  const int code = TRY(connect(file, &address, sizeof address));
  close(file);
  return code;
}
/* H84: a pair of sockets */
EXPORT int32_t h84_socketpair(void) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0) return errno;
  close(ends[0]);
  return TRY(close(ends[1]));
}
/* H84: binds the control channel to a name */
CALL(h84_bind, SYS_bind, BAD, NONE, NONE)
/* H84: listens */
CALL(h84_listen, SYS_listen, BAD, NONE)
/* H85: UDP */
SOCKET(h85_udp, AF_INET, SOCK_DGRAM, 17)
/* H85: UDP over IPv6 */
SOCKET(h85_udp6, AF_INET6, SOCK_DGRAM, 17)
/* H85: TCP */
SOCKET(h85_tcp, AF_INET, SOCK_STREAM, 0)
/* H85: raw packets */
SOCKET(h85_raw, AF_INET, SOCK_RAW, 1)
/* H85: frames */
SOCKET(h85_packet, AF_PACKET, SOCK_RAW, 0)
/* H85: netlink, of another kind than name lookup uses */
SOCKET(h85_netlink, AF_NETLINK, SOCK_RAW, 15)
/* H85: the kernel's ciphers */
SOCKET(h85_alg, 38, SOCK_SEQPACKET, 0)
/* H85: the machine's host */
SOCKET(h85_vsock, 40, SOCK_STREAM, 0)
/* H85: express data path */
SOCKET(h85_xdp, 44, SOCK_RAW, 0)
/* H85: cluster messages */
SOCKET(h85_tipc, 30, SOCK_SEQPACKET, 0)
/* H85: many messages at once */
CALL(h85_sendmmsg, SYS_sendmmsg, BAD, NONE, NONE, NONE)
/* H86: the address where clouds keep their secrets */
EXPORT int32_t h86_metadata(void) {
  const int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  return file < 0 ? errno : TRY(close(file));
}
/* H86: connects without a socket of its own */
CALL(h86_connect, SYS_connect, BAD, NONE, NONE)
/* H104: a handle by name */
CALL(h104_name_to_handle, SYS_name_to_handle_at, BAD, NONE, NONE, NONE, NONE)
/* H104: opens by handle */
CALL(h104_open_by_handle, SYS_open_by_handle_at, BAD, NONE, NONE)
/* H104: openat2 to a path outside */
EXPORT int32_t h104_openat2(void) {
  const struct open_how how = {.flags = O_RDONLY | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
  return TRY(syscall(SYS_openat2, AT_FDCWD, "/etc/shadow", &how, sizeof how));
}
/* H109: mounts */
CALL(h109_mount, SYS_mount, NONE, NONE, NONE, NONE, NONE)
/* H109: unmounts */
CALL(h109_umount, SYS_umount2, BAD, NONE)
/* H109: another root */
CALL(h109_chroot, SYS_chroot, "/")
/* H109: turns the root around */
CALL(h109_pivot_root, SYS_pivot_root, NONE, NONE)
/* H119: asks which kernel this is, which anyone may */
EXPORT int32_t h119_uname(void) { struct utsname name; return TRY(uname(&name)); }
