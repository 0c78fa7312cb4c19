/* Processes: spawn, fork, pidfds, clocks. Every function returns 0 or an errno value; results go to out-parameters. */
#ifndef OL_PROCESS_H
#define OL_PROCESS_H
#include <stdint.h>
#include <sys/types.h>

/* How many words this program was started with, and the words, as the kernel handed them over; without /proc, too. */
int ol_arguments(char *_Nullable *_Nullable *_Nonnull words);
/* posix_spawn(3) with descriptor `channel` as 3, /dev/null as 0, and every descriptor from 4 on closed. */
int ol_spawn(const char *_Nonnull path, char *_Nullable const *_Nonnull argv, char *_Nullable const *_Nonnull envp,
             int channel, pid_t *_Nonnull pid);
/* fork(2). `pid` is 0 in the child. Only for a process with one thread. */
int ol_fork(pid_t *_Nonnull pid);
int ol_pidfd_open(pid_t pid, int *_Nonnull pidfd);
/* The process that made a pair of sockets with socketpair(2), by one of its ends (SO_PEERCRED); 0: in no namespace of this one's. */
int ol_socket_maker(int socket, pid_t *_Nonnull pid);
int ol_pidfd_signal(int pidfd, int signal);
/* To all processes of the group that `pid`, whose handle `pidfd` is, leads: at one moment, so that none of them can undo it for
   another (PIDFD_SIGNAL_PROCESS_GROUP, Linux 6.9). Before that kill(2), once the handle says that the leader is there. */
int ol_pidfd_signal_group(int pidfd, pid_t pid, int signal);
/* Makes the calling process the leader of a session and of a group of its own, without a terminal (setsid(2)). */
int ol_lead_session(void);
/* Has the limit on a file's length told to whoever answers this process's notified calls: the kernel answers EFBIG to the
   call that meets it and sends SIGXFSZ (setrlimit(2)), whose handler makes one call more, fallocate(2) of no file with
   FALLOC_FL_KEEP_SIZE and OL_FILE_LIMIT_MET bytes. A program that it executes would die of that signal. */
int ol_tell_file_limit(void);
#define OL_FILE_LIMIT_MET 0x7fffffffffffffff
/* For how long a thread computes before it is another one's turn (sched_setattr(2), `sched_runtime`): 100,000 ns to 100 ms, 0: as
   usual. Its nice value stays as it is, and threads that it starts have the usual time. ENOTSUP for one of a special
   policy; before Linux 6.12 it changes nothing. */
int ol_set_slice(pid_t thread, uint64_t nanoseconds);
/* process_mrelease(2): frees what a process that was killed still maps, on this thread, while it ends on another; ENOSYS
   before Linux 5.15. */
int ol_pidfd_release_memory(int pidfd);
/* The pid that a pidfd names, as /proc/self/fdinfo shows it; ESRCH when it is gone. */
int ol_pidfd_pid(int pidfd, pid_t *_Nonnull pid);
/* waitid(2) on any child without blocking; pid 0 when none has changed. `code` is CLD_EXITED, CLD_KILLED or CLD_DUMPED. */
int ol_reap(pid_t *_Nonnull pid, int *_Nonnull code, int *_Nonnull status, uint64_t *_Nonnull cpu_nanoseconds);
/* waitid(2) for one child, blocking. */
int ol_wait(pid_t pid, int *_Nonnull code, int *_Nonnull status);
/* Nanoseconds of CPU that a process has used, all threads (clock_getcpuclockid(3)). */
int ol_process_cpu(pid_t pid, uint64_t *_Nonnull nanoseconds);
int ol_set_rlimit(int resource, uint64_t soft, uint64_t hard);
int ol_get_rlimit(int resource, uint64_t *_Nonnull soft, uint64_t *_Nonnull hard);
/* Whether the kernel's wall clock is disciplined (adjtimex(2)); 1 where that can't be asked. */
int ol_clock_is_synchronised(void);
/* Nanoseconds that the machine has slept since boot: CLOCK_BOOTTIME beyond CLOCK_MONOTONIC. */
uint64_t ol_slept(void);
/* madvise(2), MADV_POPULATE_READ or, with `write`, MADV_POPULATE_WRITE: faults the range in; EINVAL before Linux 5.14. */
int ol_populate(uintptr_t address, size_t bytes, int write);
/* Puts code in the place of code: the same bytes at the same address, but in huge pages of this process's own. `start` and
   `bytes` are multiples of OL_HUGE_PAGE within one mapping. An error leaves everything as it was: EINVAL before Linux 6.1
   (madvise(2), MADV_COLLAPSE) or without transparent huge pages, ENOMEM or EAGAIN where no such page is free. */
#define OL_HUGE_PAGE 2097152ul
int ol_make_code_huge(uintptr_t start, size_t bytes);
/* Starts so many threads at once, at most 64, maps so many bytes beside their stacks, and takes it all back. An error
   number where something of that couldn't be had. */
int ol_start_threads(int count, size_t bytes);
_Noreturn void ol_exit_now(int status);

/* Of the calling thread, as debuggers show it; at most 15 bytes (PR_SET_NAME, prctl(2)). */
void ol_name_thread(const char *_Nonnull name);
/* Tells malloc(3) to share its arenas between threads, and to give back what is free. Before other threads start.
   By default each thread has an arena that others don't use, and the largest block that was ever freed raises the size
   from which memory is returned at once. */
void ol_keep_memory_small(void);
void ol_look_up_names_in_files(void);
void ol_write_lines(void);
void ol_flush_output(void);
void ol_release_code(void);
/* malloc_trim(3). */
void ol_trim_memory(void);
size_t ol_memory_in_use(void);

/* explicit_bzero(3). */
void ol_erase(void *_Nullable bytes, size_t count);

/* tgkill(2). */
int ol_signal_thread(pid_t process, pid_t thread, int signal);
/* Asks the kernel whether memory of this process can be read, instead of faulting on it: 0 where every byte can be read now,
   else EFAULT. One system call for each page. */
int ol_check_readable(const void *_Nullable address, size_t count);
/* The length of a text without its NUL, `limit` where it has none before. EFAULT where it runs into what can't be read. */
int ol_check_text(const char *_Nullable text, size_t limit, size_t *_Nonnull length);
/* A copy of memory that other threads may unmap meanwhile: EFAULT where it can't be read, as far as the handlers of
   ol_install_stack_handlers are in place; without them such a thread's fault is one. */
int ol_copy_readable(void *_Nullable to, const void *_Nullable from, size_t count);
/* The same without asking first. */
int ol_copy_guarded(void *_Nullable to, const void *_Nullable from, size_t count);
/* For a handler of SIGSEGV and SIGBUS: doesn't return where this thread was in one of these. */
void ol_leave_faulting_read(void);

#endif
