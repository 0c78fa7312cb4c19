/* Time and liveness: what never ends, and what tries to multiply itself. */
#include "hostile.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

static void spin(void) { for (volatile unsigned n = 0;; n++) {} }
static void *spin_thread(void *unused) { (void)unused; spin(); return NULL; }

/* H01: an endless loop */
EXPORT void h01_spin(void) { spin(); }

/* H02: sleeps for thirty years */
EXPORT void h02_sleep(void) { for (;;) sleep(1000000000); }
/* H02: waits for a signal that never comes */
EXPORT void h02_pause(void) { for (;;) pause(); }
/* H02: waits on a futex that nobody wakes */
EXPORT void h02_futex(void) { static int word; for (;;) syscall(SYS_futex, &word, 0, 0, NULL, NULL, 0); }
/* H02: waits for a lock that it holds itself */
EXPORT void h02_deadlock(void) {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  pthread_mutex_lock(&lock);
}

static void ignore(int signal) { (void)signal; }
/* H05: blocks, ignores and handles every signal, then spins */
EXPORT void h05_ignores_signals(void) {
  sigset_t all;
  sigfillset(&all);
  for (int number = 1; number < 65; number++) signal(number, number % 2 ? SIG_IGN : ignore);
  sigprocmask(SIG_BLOCK, &all, NULL);
  spin();
}

/* H07: eight threads burn CPU time at once */
EXPORT void h07_threads_spin(void) {
  pthread_t thread;
  for (int n = 0; n < 8; n++) pthread_create(&thread, NULL, spin_thread, NULL);
  for (;;) pause();
}
/* H07: the first thread sleeps and another spins */
EXPORT void h07_other_thread_spins(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, spin_thread, NULL);
  for (;;) pause();
}
/* H07: leaves a spinning thread behind and returns */
EXPORT int32_t h07_leaves_thread(void) {
  pthread_t thread;
  return pthread_create(&thread, NULL, spin_thread, NULL);
}

/* H08: a short-lived child */
EXPORT int32_t h08_fork(void) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  return TRY(child);
}
/* H09: a daemon: forks twice with a session of its own */
EXPORT int32_t h09_daemon(void) {
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    if (fork() == 0) for (int n = 0; n < 200; n++) usleep(10000);
    _exit(0);
  }
  return TRY(child);
}
/* H09: a session of its own without a fork */
EXPORT int32_t h09_setsid(void) { return TRY(setsid()); }
/* H10: a fork bomb of 32 children, each of which ends at once */
EXPORT int32_t h10_fork_bomb(void) {
  int code = 0;
  for (int n = 0; n < 32; n++) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    if (child < 0) code = errno;
  }
  return code;
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static void *wait_thread(void *unused) { (void)unused; pthread_mutex_lock(&gate); pthread_mutex_unlock(&gate); return NULL; }
/* H11: threads until one is refused, at most 1000 */
EXPORT int32_t h11_thread_bomb(void) {
  static pthread_t threads[1000];
  int code = 0, count = 0;
  pthread_mutex_lock(&gate);
  while (count < 1000 && (code = pthread_create(&threads[count], NULL, wait_thread, NULL)) == 0) count++;
  pthread_mutex_unlock(&gate);
  while (count > 0) pthread_join(threads[--count], NULL);
  return code;
}

/* H12: the old fork call, whose child would sleep for a while */
EXPORT int32_t h12_fork_call(void) {
  const long child = syscall(SYS_fork);
  if (child == 0) { sleep(1); _exit(0); }
  return TRY(child);
}
/* H12: vfork; the child ends at once */
EXPORT int32_t h12_vfork(void) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const pid_t child = vfork();
#pragma GCC diagnostic pop
  if (child == 0) _exit(0);
  return TRY(child);
}

/* H13: denied system calls as fast as they go */
EXPORT void h13_denied_flood(void) { for (;;) syscall(SYS_keyctl, -1L, 0L, 0L, 0L, 0L); }
/* H13: denied system calls, each with other arguments, so that a report can't fold them */
EXPORT void h13_distinct_flood(void) { for (long n = 600;; n++) syscall(600 + n % 100000, n); }
/* H13: ten thousand denied calls, then a normal return */
EXPORT int32_t h13_denied_burst(void) {
  for (int n = 0; n < 10000; n++) syscall(SYS_keyctl, -1L, 0L, 0L, 0L, 0L);
  return 0;
}

static void flood(int file) {
  static char block[65536];
  memset(block, 'x', sizeof block);
  for (;;) if (write(file, block, sizeof block) < 0) sched_yield();
}
/* H14: floods standard output */
EXPORT void h14_stdout_flood(void) { flood(1); }
/* H14: floods standard error */
EXPORT void h14_stderr_flood(void) { flood(2); }
/* H14: eight MiB of output, then a normal return */
EXPORT int32_t h14_output_burst(void) {
  static char block[65536];
  memset(block, 'x', sizeof block);
  for (int n = 0; n < 128; n++) if (write(1, block, sizeof block) < 0 && errno != EAGAIN && errno != EPIPE) return errno;
  return 0;
}

/* H17: an interval timer of one microsecond, and a call that signals keep restarting */
EXPORT void h17_timer_storm(void) {
  const struct itimerval every = {{0, 1}, {0, 1}};
  struct sigaction action = {.sa_handler = ignore, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &every, NULL);
  for (;;) syscall(SYS_keyctl, -1L, 0L, 0L, 0L, 0L);
}

/* H18: real-time scheduling */
EXPORT int32_t h18_realtime(void) {
  const struct sched_param highest = {.sched_priority = 1};
  return TRY(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &highest));
}
/* H18: a better nice value */
EXPORT int32_t h18_nice(void) { return TRY(setpriority(PRIO_PROCESS, 0, -20)); }
/* H18: moves itself to another processor */
EXPORT int32_t h18_affinity(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  return TRY(sched_setaffinity(0, sizeof set, &set));
}
/* H18: real-time input and output */
EXPORT int32_t h18_ioprio(void) { return TRY(syscall(SYS_ioprio_set, 1, 0, 1 << 13)); }
/* H18: deadline scheduling */
EXPORT int32_t h18_setattr(void) { return TRY(syscall(SYS_sched_setattr, 0, NULL, 0)); }
