/* The boundary to the host: the channels, the ways to end, and one good citizen. */
#include "hostile.h"
#include <locale.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

/* What a plugin finds out by trying: the descriptors of the two channels. */
enum { CONTROL = 3, SERVICE = 4 };
struct __attribute__((packed)) header { uint16_t magic; uint8_t version, kind; uint32_t length; uint64_t id; };
_Static_assert(sizeof(struct header) == 16, "a header has 16 bytes");
static void stay(void) { for (;;) pause(); }
static void say(int channel, const void *bytes, size_t size) { if (send(channel, bytes, size, MSG_NOSIGNAL) < 0) {} }
static void forge(int channel, uint8_t kind, uint32_t length, uint64_t id) {
  const struct header frame = {0x526f, 1, kind, length, id};
  say(channel, &frame, sizeof frame);
}

/* H70: garbage on the control channel */
EXPORT void h70_garbage(void) { char bytes[64]; memset(bytes, 'A', sizeof bytes); say(CONTROL, bytes, sizeof bytes); stay(); }
/* H70: garbage on the service channel */
EXPORT void h70_service_garbage(void) { char bytes[64]; memset(bytes, 'A', sizeof bytes); say(SERVICE, bytes, sizeof bytes); stay(); }
/* H70: a forged answer to a call that was never made */
EXPORT void h70_forged_reply(void) { forge(CONTROL, 67, 0, UINT64_C(1) << 63); stay(); }
/* H70: says a second time that it was loaded */
EXPORT void h70_forged_loaded(void) { forge(CONTROL, 65, 0, 1); stay(); }
/* H70: says a second time that the walls are closed */
EXPORT void h70_forged_walls(void) { const char empty[4] = {0}; forge(CONTROL, 64, sizeof empty, 0); say(CONTROL, empty, sizeof empty); stay(); }
/* H70: a kind of message that doesn't exist */
EXPORT void h70_unknown_kind(void) { forge(CONTROL, 255, 0, 1); stay(); }
/* H70: a version of the protocol that doesn't exist */
EXPORT void h70_wrong_version(void) { const struct header frame = {0x526f, 99, 67, 0, 1}; say(CONTROL, &frame, sizeof frame); stay(); }
/* H70: a forged answer, then the true one */
EXPORT int32_t h70_two_replies(void) { forge(CONTROL, 67, 0, 12345); return 0; }
/* H71: a length of four gibibytes */
EXPORT void h71_length_max(void) { forge(CONTROL, 67, UINT32_MAX, 1); stay(); }
/* H71: a length of two gibibytes */
EXPORT void h71_length_sign(void) { forge(CONTROL, 67, UINT32_C(1) << 31, 1); stay(); }
/* H71: one byte more than a frame may have, on the service channel */
EXPORT void h71_service_length(void) { forge(SERVICE, 1, (4u << 20) + 1, 1); stay(); }
/* H71: an unfinished frame that swallows the true answer */
EXPORT int32_t h71_truncated(void) { forge(CONTROL, 67, 8, 1); return 0; }
/* H71: a header of which half never comes */
EXPORT void h71_half_header(void) { const struct header frame = {0x526f, 1, 67, 0, 1}; say(CONTROL, &frame, 7); stay(); }
static void send_descriptors(int channel) {
  union { char bytes[CMSG_SPACE(8 * sizeof(int))]; struct cmsghdr align; } room = {{0}};
  const struct header frame = {0x526f, 1, 67, 0, 1};
  struct iovec part = {(void *)&frame, sizeof frame};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room.bytes, .msg_controllen = sizeof room.bytes};
  struct cmsghdr *each = CMSG_FIRSTHDR(&message);
  each->cmsg_level = SOL_SOCKET;
  each->cmsg_type = SCM_RIGHTS;
  each->cmsg_len = CMSG_LEN(8 * sizeof(int));
  for (int n = 0; n < 8; n++) { const int file = open("/dev/null", O_RDONLY | O_CLOEXEC); memcpy(CMSG_DATA(each) + (size_t)n * sizeof file, &file, sizeof file); }
  if (sendmsg(channel, &message, MSG_NOSIGNAL) < 0) {}
}
/* H72: descriptors that nobody asked for */
EXPORT void h72_descriptors(void) { send_descriptors(CONTROL); stay(); }
/* H72: the same on the service channel */
EXPORT void h72_service_descriptors(void) { send_descriptors(SERVICE); stay(); }
/* H75: a flood of requests whose answers it never reads */
EXPORT void h75_flood_requests(void) { for (;;) forge(SERVICE, 255, 0, 1); }
/* H75: reads the host's words away from the runner for ever */
EXPORT void h75_reads_channel(void) { char bytes[256]; for (;;) if (recv(CONTROL, bytes, sizeof bytes, 0) <= 0) stay(); }
/* H76: closes the control channel and goes on */
EXPORT void h76_close(void) { close(CONTROL); stay(); }
/* H76: ends what it says on the control channel */
EXPORT void h76_shutdown(void) { shutdown(CONTROL, SHUT_WR); stay(); }
/* H76: puts something else in the control channel's place */
EXPORT void h76_replace(void) { const int file = open("/dev/null", O_RDWR | O_CLOEXEC); dup2(file, CONTROL); stay(); }
/* H76: closes every descriptor and goes on */
EXPORT void h76_close_all(void) { syscall(SYS_close_range, 3L, (long)UINT32_MAX, 0L); stay(); }

/* H77: ends well in the middle of a call */
EXPORT void h77_exit(void) { exit(0); }
/* H77: ends well without the last rites */
EXPORT void h77_exit_now(void) { _exit(0); }
/* H77: ends quickly */
EXPORT void h77_quick_exit(void) { quick_exit(0); }
/* H77: ends with the first thread alone */
EXPORT void h77_thread_exit(void) { for (;;) syscall(SYS_exit, 0L); }
/* H77: ends with a status of its own */
EXPORT void h77_exit_42(void) { _exit(42); }
/* H60: ends the thread that was called */
EXPORT void h60_pthread_exit(void) { pthread_exit(NULL); }
static void again(int signal) { (void)signal; }
/* H60: handles its own faults, for ever */
EXPORT void h60_segv_loop(void) {
  const struct sigaction action = {.sa_handler = again};
  sigaction(SIGSEGV, &action, NULL);
  *(volatile int *)(uintptr_t)8 = 1;
  stay();
}
/* H60: blocks the signal of its own fault */
EXPORT void h60_segv_blocked(void) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  *(volatile int *)(uintptr_t)8 = 1;
}
static void *fault(void *unused) { (void)unused; *(volatile int *)(uintptr_t)16 = 1; return NULL; }
/* H60: a fault in another thread */
EXPORT void h60_thread_segv(void) { pthread_t thread; pthread_create(&thread, NULL, fault, NULL); stay(); }
/* H78: aborts */
EXPORT void h78_abort(void) { abort(); }
/* H78: writes to no address */
EXPORT void h78_segv(void) { *(volatile int *)(uintptr_t)0 = 1; }
/* H78: jumps to no address */
EXPORT void h78_jump(void) { void (*volatile nowhere)(void) = (void (*)(void))(uintptr_t)0x10; nowhere(); }
/* H78: divides by zero */
EXPORT void h78_division(void) {
  int dividend = 1, rest;
  __asm__ volatile("cltd\n\tidivl %2" : "+a"(dividend), "=&d"(rest) : "r"(0) : "cc");
}
/* H78: an instruction that doesn't exist */
EXPORT void h78_illegal(void) { __builtin_trap(); }
/* H78: reads a mapped file beyond its end */
EXPORT void h78_bus(void) {
  const int file = open(in_container("h78"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  volatile char *bytes = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
  if (bytes != MAP_FAILED) (void)bytes[0];
}
extern void __stack_chk_fail(void);
/* H78: finds its stack smashed */
EXPORT void h78_stack_smash(void) { __stack_chk_fail(); }
/* H78: frees what it never had */
EXPORT void h78_bad_free(void) {
  void *volatile pointer = (void *)(uintptr_t)0x1234560;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wfree-nonheap-object"
  free(pointer);
#pragma GCC diagnostic pop
}
/* H78: kills itself, which the first process of a namespace can't */
EXPORT int32_t h78_kill_self(void) { return TRY(syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), SIGKILL)); }

static __thread int own = 7;
static void *work(void *unused) {
  (void)unused;
  char *bytes = malloc(100000);
  if (!bytes) return (void *)1;
  touch(bytes, 100000);
  own++;
  free(bytes);
  return own == 8 ? NULL : (void *)1;
}
/* H120: an ordinary library: threads, arenas, locale, time zone, name lookup, storage per thread, a big file mapped */
EXPORT int32_t h120_good_citizen(void) {
  pthread_t threads[4];
  void *result;
  int32_t code = 0;
  for (int n = 0; n < 4; n++) if ((code = pthread_create(&threads[n], NULL, work, NULL))) return code;
  for (int n = 0; n < 4; n++) if (pthread_join(threads[n], &result) || result) code = EINVAL;
  setlocale(LC_ALL, "");
  tzset();
  const time_t now = time(NULL);
  struct tm parts;
  if (!localtime_r(&now, &parts)) return EINVAL;
  const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
  struct addrinfo *found = NULL;
  if (getaddrinfo("example.invalid", "80", &hints, &found) == 0) freeaddrinfo(found);
  if (getaddrinfo("127.0.0.1", "80", &hints, &found) == 0) freeaddrinfo(found);
  const int file = written_file("h120", 32 * MiB);
  if (file < 0) return -file;
  volatile char *bytes = mmap(NULL, 32 * MiB, PROT_READ, MAP_PRIVATE, file, 0);
  if (bytes == MAP_FAILED) return errno;
  for (size_t at = 0; at < 32 * MiB; at += 4096) if (bytes[at]) code = EINVAL;
  munmap((void *)bytes, 32 * MiB);
  close(file);
  unlink(in_container("h120"));
  return own == 7 ? code : EINVAL;
}
/* H120: a timer, a pipe, a poll: what event loops do */
EXPORT int32_t h120_event_loop(void) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return errno;
  if (write(ends[1], "x", 1) != 1) return errno;
  char byte;
  if (read(ends[0], &byte, 1) != 1) return errno;
  close(ends[0]);
  close(ends[1]);
  return usleep(1000) < 0 ? errno : 0;
}
