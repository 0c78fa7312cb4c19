/* What ordinary libraries do, and must not be punished for: H119, H120 (and H26, H36, H38 to H40 in memory.c). */
#include "hostile.h"

#include <dlfcn.h>
#include <grp.h>
#include <iconv.h>
#include <limits.h>
#include <locale.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <sys/timerfd.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <wchar.h>

/* H119: finds out that it is watched, in four ways; and behaves. Bits of what it saw; 0 without walls. */
EXPORT int32_t h119_looks_around(void) {
  struct utsname system;
  int32_t seen = 0;
  if (prctl(PR_GET_SECCOMP) > 0) seen |= 1;
  if (getpid() == 1) seen |= 2;
  if (access("/proc/self/status", R_OK) != 0) seen |= 4;
  if (uname(&system) != 0 || system.sysname[0] == 0) seen |= 8;
  return seen;
}

static __thread int thread_local_value = 7;
static __thread char thread_local_block[4096];

static void *allocating_thread(void *result) {
  thread_local_value += 1;
  thread_local_block[0] = 1;
  for (size_t size = 16; size < 65536; size *= 2) {
    void *memory = malloc(size);
    if (!memory) return NULL;
    memset(memory, 1, size);
    free(memory);
  }
  return thread_local_value == 8 ? result : NULL;
}

/* H120: four threads, an arena each, storage of their own. */
EXPORT int32_t h120_threads(void) {
  pthread_t threads[4];
  for (int index = 0; index < 4; index++) {
    int code = pthread_create(&threads[index], NULL, allocating_thread, threads);
    if (code) return code;
  }
  for (int index = 0; index < 4; index++) {
    void *result = NULL;
    pthread_join(threads[index], &result);
    if (!result) return EIO;
  }
  return thread_local_value == 7 ? 0 : EIO;
}

/* H120: locale, time zone, character sets, number formats. A machine without a locale is none of ours. */
EXPORT int32_t h120_locale(void) {
  time_t now = time(NULL);
  struct tm local;
  char text[64];
  wchar_t wide[8];
  setlocale(LC_ALL, "");
  setlocale(LC_ALL, "de_DE.UTF-8");
  tzset();
  if (!localtime_r(&now, &local) || strftime(text, sizeof text, "%c %Z", &local) == 0) return EIO;
  setlocale(LC_ALL, "C.UTF-8");
  return mbstowcs(wide, "\xc3\xa4", 8) == 1 ? 0 : EIO;
}

/* H120: looks a name up. Refused, as published; the library gives up by itself and nothing is recorded. */
EXPORT int32_t h120_name_lookup(void) {
  struct addrinfo *found = NULL, hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  int code = getaddrinfo("assets.example.com", "https", &hints, &found);
  if (code == 0) freeaddrinfo(found);
  return code == 0 ? ECONNREFUSED : 0;
}

/* H120: an address that needs no lookup still works. */
EXPORT int32_t h120_numeric_address(void) {
  struct addrinfo *found = NULL, hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_family = AF_INET};
  if (getaddrinfo("192.0.2.1", "443", &hints, &found) != 0) return EIO;
  freeaddrinfo(found);
  return 0;
}

/* H120: waits on what there is to wait on. */
EXPORT int32_t h120_event_loop(void) {
  struct epoll_event event = {.events = EPOLLIN};
  struct itimerspec soon = {{0, 0}, {0, 1000000}};
  int loop = epoll_create1(EPOLL_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), waker = eventfd(0, EFD_CLOEXEC);
  if (loop < 0 || timer < 0 || waker < 0 || timerfd_settime(timer, 0, &soon, NULL) < 0) return errno;
  if (epoll_ctl(loop, EPOLL_CTL_ADD, timer, &event) < 0 || epoll_ctl(loop, EPOLL_CTL_ADD, waker, &event) < 0) return errno;
  int32_t code = epoll_wait(loop, &event, 1, 1000) == 1 ? 0 : errno ? errno : ETIME;
  close(loop), close(timer), close(waker);
  return code;
}

static int by_value(const void *first, const void *second) { return *(const int *)first - *(const int *)second; }

/* H120: reads, writes, renames and lists files where it may, sorts, prints. */
EXPORT int32_t h120_files(void) {
  char from[PATH_MAX], line[64] = "";
  int values[] = {3, 1, 2};
  strcpy(from, in_container("h120.tmp"));
  FILE *file = fopen(from, "w+");
  if (!file) return errno;
  qsort(values, 3, sizeof *values, by_value);
  fprintf(file, "%d %d %d %.3f\n", values[0], values[1], values[2], 0.5);
  fflush(file);
  if (fsync(fileno(file)) < 0 || rename(from, in_container("h120.txt")) < 0) return errno;
  rewind(file);
  if (!fgets(line, sizeof line, file) || strcmp(line, "1 2 3 0.500\n") != 0) return EIO;
  fclose(file);
  return outcome(unlink(in_container("h120.txt")));
}

/* H120: asks about the machine. */
EXPORT int32_t h120_machine(void) {
  struct utsname system;
  struct sysinfo information;
  cpu_set_t set;
  char bytes[16];
  if (uname(&system) < 0 || sysinfo(&information) < 0 || getrandom(bytes, sizeof bytes, 0) < 0) return errno;
  if (sched_getaffinity(0, sizeof set, &set) < 0) return errno;
  return sysconf(_SC_PAGESIZE) > 0 && CPU_COUNT(&set) > 0 ? 0 : EIO;
}

/* H120: a temporary file, and one without a name. */
EXPORT int32_t h120_temporary(void) {
  char path[PATH_MAX];
  strcpy(path, in_scratch("h120-XXXXXX"));
  int file = mkstemp(path);
  if (file < 0 || write(file, "x", 1) != 1) return errno;
  close(file);
  if (unlink(path) < 0) return errno;
  return opened(open(in_container("."), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
}

/* H120: asks the loader for a function of a library that is there already. */
EXPORT int32_t h120_symbol(void) {
  void *self = dlopen(NULL, RTLD_NOW);
  return self && dlsym(self, "malloc") ? 0 : ENOENT;
}

/* H120: asks who it is, logs, looks at interfaces and waits for children: each has an answer, none of them is a denial. */
EXPORT int32_t h120_asks(void) {
  getpwuid(getuid());
  getgrgid(getgid());
  getservbyname("http", "tcp");
  syslog(LOG_INFO, "a line for the system's log");
  if_nametoindex("lo");
  errno = 0;
  return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : EIO;
}

/* H120: prints without a line end, and doesn't flush. */
EXPORT int32_t h120_prints(void) {
  printf("half a line");
  return 0;
}
