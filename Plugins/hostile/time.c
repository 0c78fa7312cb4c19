/* Time and liveness: H01 to H21. */
#include "hostile.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

/* An empty loop may be taken for one that ends; this one can't. */
static void spin(void) {
  for (volatile unsigned long turns = 0;; turns++) {
  }
}

static void *spinning_thread(void *unused) {
  spin();
  return unused;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* H01: never returns, one core busy. */
EXPORT void h01_spin(void) { spin(); }

/* H02: never returns, no CPU used. */
EXPORT void h02_sleep(void) {
  for (;;) sleep(1000000000);
}

/* H02: the same, waiting for a signal. */
EXPORT void h02_pause(void) { wait_forever(); }

/* H02: the same, on a futex that nobody wakes. */
EXPORT void h02_futex(void) {
  static uint32_t word = 1;
  for (;;) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
}

static void ignore_signal(int number) { (void)number; }

/* H05: handles what can be handled, blocks all, then spins: only SIGKILL is left. */
EXPORT void h05_deaf_spin(void) {
  struct sigaction action = {.sa_handler = ignore_signal};
  sigset_t all;
  for (int number = 1; number < 65; number++) sigaction(number, &action, NULL);
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  spin();
}

/* H05: ignores every signal and sleeps. */
EXPORT void h05_deaf_sleep(void) {
  for (int number = 1; number < 65; number++) signal(number, SIG_IGN);
  wait_forever();
}

/* H07: eight threads burn CPU at once: the sum reaches the limit long before the wall clock does. */
EXPORT void h07_eight_threads(void) {
  pthread_t thread;
  for (int index = 0; index < 7; index++) pthread_create(&thread, NULL, spinning_thread, NULL);
  spin();
}

/* H07: returns, and leaves a thread that spins */
EXPORT int32_t h07_leaves_thread(void) {
  pthread_t thread;
  return pthread_create(&thread, NULL, spinning_thread, NULL);
}

/* H08: burns CPU in children, each too short for RLIMIT_CPU. */
EXPORT int32_t h08_short_children(void) {
  for (int index = 0; index < 3; index++) {
    pid_t child = fork();
    if (child < 0) return errno;
    if (child == 0) {
      for (double end = seconds() + 0.1; seconds() < end;) {
      }
      _exit(0);
    }
    waitpid(child, NULL, 0);
  }
  return 0;
}

/* H08: fork by its legacy number, which the C library doesn't use. */
EXPORT int32_t h08_raw_fork(void) {
  long child = syscall(SYS_fork);
  if (child == 0) _exit(0);
  return outcome(child);
}

/* H09: a daemon that goes on after the call. Canary: `h09-canary` in the container, a moment after the end. */
EXPORT int32_t h09_daemon(void) {
  pid_t child = fork();
  if (child != 0) return outcome(child);
  setsid();
  if (fork() == 0) {
    usleep(100000);
    close(open(in_container("h09-canary"), O_CREAT | O_WRONLY, 0600));
  }
  _exit(0);
}

/* H10: forks until it fails; 64 are enough to show it. */
EXPORT int32_t h10_fork_bomb(void) {
  pid_t children[64];
  int count = 0, code = 0;
  for (; count < 64 && code == 0; count++) {
    children[count] = fork();
    if (children[count] == 0) {
      usleep(500000);
      _exit(0);
    }
    code = outcome(children[count]);
  }
  for (int index = 0; index < count; index++)
    if (children[index] > 0) kill(children[index], SIGKILL), waitpid(children[index], NULL, 0);
  return code;
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *waiting_thread(void *unused) {
  pthread_mutex_lock(&gate);
  pthread_mutex_unlock(&gate);
  return unused;
}

/* H11: threads until it fails. Their stacks are reserved, not used: no reason to end the run. */
EXPORT int32_t h11_thread_bomb(void) {
  static pthread_t threads[1024];
  int count = 0, code = 0;
  pthread_mutex_lock(&gate);
  while (count < 1024 && (code = pthread_create(&threads[count], NULL, waiting_thread, NULL)) == 0) count++;
  pthread_mutex_unlock(&gate);
  for (int index = 0; index < count; index++) pthread_join(threads[index], NULL);
  return code;
}

static void *ended_thread(void *unused) { return unused; }

/* H11: one after the other, each joined before the next: never more than one beside the first. How many were refused. */
EXPORT int32_t h11_one_by_one(void) {
  int32_t refused = 0;
  pthread_t thread;
  for (int index = 0; index < 500; index++)
    if (pthread_create(&thread, NULL, ended_thread, NULL)) refused++;
    else pthread_join(thread, NULL);
  return refused;
}

static int running;

static void *counted_thread(void *unused) {
  __atomic_add_fetch(&running, 1, __ATOMIC_SEQ_CST);
  return waiting_thread(unused);
}

static void *making_thread(void *unused) {
  pthread_t thread;
  for (int index = 0; index < 50; index++)
    if (pthread_create(&thread, NULL, counted_thread, NULL) == 0) pthread_detach(thread);
  return unused;
}

/* H11: from eight threads at once, many more than there may be, none of which ends. How many there were. */
EXPORT int32_t h11_most_at_once(void) {
  pthread_t makers[8];
  int count = 0;
  pthread_mutex_lock(&gate);
  /* The first ones may have made all that there may be before the last one is. */
  for (int index = 0; index < 8; index++) {
    if (!pthread_create(&makers[count], NULL, making_thread, NULL)) count++;
  }
  for (int index = 0; index < count; index++) pthread_join(makers[index], NULL);
  usleep(100000);
  return __atomic_load_n(&running, __ATOMIC_SEQ_CST);
}

/* H12: a vfork child that sleeps stops its parent too. Bounded, so that a positive control ends. */
EXPORT int32_t h12_vfork(void) {
  pid_t child = vfork();
  if (child == 0) {
    struct timespec time = {0, 100000000};
    syscall(SYS_nanosleep, &time, NULL);
    _exit(0);
  }
  return outcome(child);
}

/* H13: denied calls as fast as they can be made, to keep the monitor from its deadline. */
EXPORT void h13_flood(void) {
  for (;;) syscall(SYS_ptrace, 0, 0, 0, 0);
}

/* H13: denied calls that differ, so that each would be a line of the report. */
EXPORT int32_t h13_variety(void) {
  int32_t code = 0;
  for (int kind = 0; kind < 5000; kind++) code = opened(syscall(SYS_socket, 1, kind << 16, kind));
  return code;
}

/* H13: the same from four threads, until the clock ends it. */
static void *flooding_thread(void *unused) {
  h13_flood();
  return unused;
}

EXPORT void h13_flood_threads(void) {
  pthread_t thread;
  for (int index = 0; index < 3; index++) pthread_create(&thread, NULL, flooding_thread, NULL);
  h13_flood();
}

/* H14: writes output without end. */
EXPORT void h14_output_flood(void) {
  static const char line[] = "all work and no play makes a dull log, and the host must not drown in it\n";
  for (;;)
    if (write(1 + (rand() & 1), line, sizeof line - 1) < 0) sched_yield();
}

/* H14: 64 MiB of output in a single line, then returns. */
EXPORT int32_t h14_output_once(void) {
  static char block[65536];
  memset(block, 'x', sizeof block);
  for (size_t done = 0; done < 64 * MIB; done += sizeof block)
    if (write(1, block, sizeof block) < 0) return errno;
  return 0;
}

static int32_t storm(long microseconds) {
  struct itimerval every = {{0, microseconds}, {0, microseconds}}, never = {{0, 0}, {0, 0}};
  signal(SIGALRM, ignore_signal);
  if (setitimer(ITIMER_REAL, &every, NULL) < 0) return errno;
  for (int index = 0; index < 100; index++) syscall(SYS_kcmp, -1, -1, -1, 0, 0);
  return outcome(setitimer(ITIMER_REAL, &never, NULL));
}

/* H17: a signal every 100 microseconds; denied calls must still be answered, not restarted for ever. */
EXPORT int32_t h17_timer_storm(void) { return storm(100); }

/* H17: every microsecond: sooner than a handler returns, so the plugin itself gets nowhere. The clock ends that. */
EXPORT void h17_timer_livelock(void) {
  storm(1);
  wait_forever();
}

static void on_timer(union sigval value) { (void)value; }

/* H17: timers whose expiry is a thread each. */
EXPORT int32_t h17_timer_threads(void) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_timer};
  struct itimerspec every = {{0, 1000000}, {0, 1000000}};
  timer_t timer;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0) return errno;
  int32_t code = outcome(timer_settime(timer, 0, &every, NULL));
  usleep(100000);
  timer_delete(timer);
  return code;
}

/* H18: a real-time scheduler. */
EXPORT int32_t h18_fifo(void) {
  struct sched_param fifo = {.sched_priority = 1}, other = {.sched_priority = 0};
  int32_t code = outcome(sched_setscheduler(0, SCHED_FIFO, &fifo));
  if (code == 0) sched_setscheduler(0, SCHED_OTHER, &other);
  return code;
}

/* H18: the highest priority. */
EXPORT int32_t h18_nice(void) { return outcome(setpriority(PRIO_PROCESS, 0, -20)); }

/* H18: chooses its processors. */
EXPORT int32_t h18_affinity(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  return outcome(sched_setaffinity(0, sizeof set, &set));
}

/* H18: real-time input and output. */
EXPORT int32_t h18_ioprio(void) { return outcome(syscall(SYS_ioprio_set, 1, 0, 1 << 13)); }

/* H21: stops itself; wall time counts all the same. */
EXPORT void h21_stop_itself(void) {
  kill(getpid(), SIGSTOP);
  wait_forever();
}
