/* The boundary to the host: its channels, ends and crashes, what it leaks, sockets: H70 to H86. */
#include "hostile.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/un.h>

extern char **environ;

/* --- The channels ------------------------------------------------------------------------------------------------- */

/* The sockets that the runner inherited: first the one that carries calls, then the one that carries requests. */
enum { CALLS = 0, REQUESTS = 1 };

static int channel(int which) {
  struct stat status;
  for (int descriptor = 0; descriptor < 64; descriptor++)
    if (fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode) && which-- == 0) return descriptor;
  return -1;
}

/* A frame's header: magic, version, kind, length of what follows, id; little endian. */
struct header {
  uint16_t magic;
  uint8_t version, kind;
  uint32_t length;
  uint64_t id;
};

enum { WALLS_CLOSED = 64, LOADED, LOAD_FAILED, RETURNED, ENTRY_POINT_MISSING, CALL_REFUSED, CRASHED };
enum { THREAD_FRAME = 81, THREAD_TOLD };
enum { LOG = 128, SCHEDULE, CANCEL, CURRENT_DOWNLOADS, ACQUIRE, RELEASE, BEGIN_ACTIVITY, END_ACTIVITY };

/* Sends a frame whose header may claim something else than what follows. */
static void send_frame(int which, uint8_t kind, uint64_t id, uint32_t claimed, const void *body, size_t length) {
  char bytes[4096];
  struct header header = {0x526f, 1, kind, claimed, id};
  memcpy(bytes, &header, sizeof header);
  memcpy(bytes + sizeof header, body, length);
  send(channel(which), bytes, sizeof header + length, MSG_NOSIGNAL);
}

/* Forges a frame and never returns, so that nothing else is what the host ends the run for. */
static void forge(int which, uint8_t kind, uint64_t id, const void *body, size_t length) {
  send_frame(which, kind, id, (uint32_t)length, body, length);
  wait_forever();
}

/* H70: noise on one of the channels (0: calls, 1: requests). */
EXPORT void h70_noise(int32_t which) {
  static char noise[4096];
  memset(noise, 0xa5, sizeof noise);
  send(channel(which), noise, sizeof noise, MSG_NOSIGNAL);
  wait_forever();
}

/* H70: an answer to a call that is none: a late or an early one. Its value is void, without buffers or downloads. */
EXPORT void h70_forged_return(uint64_t id) { forge(CALLS, RETURNED, id, "\0\0\0\0\0\0\0\0\0\0\0\0\0", 13); }

/* H70: the first call answered with what isn't its type: a text, a number beyond its range, a buffer too many, nothing,
   a number without a sign, a download without a content request. */
EXPORT int32_t h70_forged_value(int32_t which) {
  static const struct {
    const char *bytes;
    size_t length;
  } answers[] = {
      {"\6\1\1\0\0\0x\0\0\0\0\0\0\0\0\0\0\0\0", 19},
      {"\1\0\0\0\0\0\0\0\x7f\0\0\0\0\0\0\0\0\0\0\0\0", 21},
      {"\1\0\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0x\0\0\0\0\0\0\0\0", 26},
      {"\0\0\0\0\0\0\0\0\0\0\0\0\0", 13},
      {"\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 21},
      {"\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0x", 26},
  };
  forge(CALLS, RETURNED, 2, answers[which].bytes, answers[which].length);
  return 0;
}

/* H70: the first call refused, after something that the report has to keep; with words for the host to say, or none. */
EXPORT int32_t h70_refusal(int32_t words) {
  static const char text[] = "\5\0\0\0xyzzy";
  socket(AF_INET, SOCK_STREAM, 0);
  forge(CALLS, CALL_REFUSED, 2, text, words ? 9 : 0);
  return 0;
}

/* H70: what only the runner says, and only once: the walls are closed. */
EXPORT void h70_walls_again(void) { forge(CALLS, WALLS_CLOSED, 0, "\0\0\0\0", 4); }

/* H70: loaded a second time. */
EXPORT void h70_loaded_again(void) { forge(CALLS, LOADED, 1, "\1\0\0\0\0\0\0\0\0\0\0\0\0", 13); }

/* H70: a load that failed, long after it succeeded. */
EXPORT void h70_load_failed_now(void) { forge(CALLS, LOAD_FAILED, 1, "\0\0\0\0", 4); }

/* H70: a kind of frame that doesn't exist. */
EXPORT void h70_unknown_kind(int32_t which) { forge(which, 255, 1, "", 0); }

/* H70: another version of the protocol. */
EXPORT void h70_other_version(int32_t which) {
  struct header header = {0x526f, 2, RETURNED, 0, 1};
  send(channel(which), &header, sizeof header, MSG_NOSIGNAL);
  wait_forever();
}

/* H70: a request that expects a reply and names none. */
EXPORT void h70_request_without_id(void) { forge(REQUESTS, CURRENT_DOWNLOADS, 0, "", 0); }

/* H70: the end of an activity that never began. */
EXPORT void h70_activity_underflow(void) { forge(REQUESTS, END_ACTIVITY, 0, "", 0); }

/* H70: a log line that isn't UTF-8. */
EXPORT void h70_log_not_utf8(void) { forge(REQUESTS, LOG, 0, "\0\0\0\0\0\0\0\0\0\2\0\0\0\xff\xfe", 15); }

/* H70: a log level that doesn't exist. */
EXPORT void h70_log_level(void) { forge(REQUESTS, LOG, 0, "\x7f\0\0\0\0\0\0\0\0\0\0\0\0", 13); }

/* H70: a confession to a crash that isn't one; the kernel's word counts, so it changes nothing but the text. */
EXPORT int32_t h70_forged_crash(void) {
  static const char site[44] = {11};
  send_frame(CALLS, CRASHED, 0, sizeof site, site, sizeof site);
  return 0;
}

/* H71: a length that nobody has room for, in the header. */
EXPORT void h71_length(uint32_t length) {
  send_frame(CALLS, RETURNED, 1, length, "", 0);
  wait_forever();
}

/* H71: a length that nobody has room for, inside a frame: a text, or a list, of so many elements. */
EXPORT void h71_inner_length(uint32_t length) { forge(CALLS, LOAD_FAILED, 1, &length, sizeof length); }

/* H71: a frame that is announced and never arrives in full. The clock ends that. */
EXPORT void h71_half_a_frame(void) {
  send_frame(CALLS, RETURNED, 1, 1000, "half", 4);
  wait_forever();
}

/* H71: bytes after the end of a frame's content. */
EXPORT void h71_trailing(void) { forge(REQUESTS, BEGIN_ACTIVITY, 0, "more", 4); }

static long send_descriptors(int which, int count, size_t control_length) {
  static char body[16], control[4096];
  struct header header = {0x526f, 1, BEGIN_ACTIVITY, 0, 0};
  struct iovec vector = {body, sizeof body};
  struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control};
  struct cmsghdr first = {.cmsg_len = control_length, .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  int file = open("/dev/null", O_RDWR | O_CLOEXEC);
  memcpy(body, &header, sizeof header);
  memcpy(control, &first, sizeof first);
  for (int index = 0; index < count; index++) memcpy(control + CMSG_LEN((size_t)index * 4), &file, sizeof file);
  message.msg_controllen = CMSG_SPACE((size_t)count * 4);
  return sendmsg(channel(which), &message, MSG_NOSIGNAL);
}

/* H72: so many descriptors with a valid frame, on one of the channels. */
EXPORT void h72_send_descriptors(int32_t which, int32_t count) {
  send_descriptors(which, count, CMSG_LEN((size_t)count * 4));
  wait_forever();
}

/* H72: ancillary data that contradicts itself. The kernel refuses it. */
EXPORT int32_t h72_malformed(void) { return outcome(send_descriptors(REQUESTS, 1, 3)); }

static void *scribbling_thread(void *buffer) {
  for (unsigned turns = 0;; turns++) memset(buffer, (int)turns, 64);
  return buffer;
}

/* H73: goes on writing what it returned. The host has its own copy, or none. */
EXPORT int32_t h73_scribble(unsigned char *out) {
  pthread_t thread;
  return pthread_create(&thread, NULL, scribbling_thread, out);
}

/* H75: asks without end and never reads an answer. */
EXPORT void h75_never_reads(void) {
  for (uint64_t id = 1u << 20;; id++) send_frame(REQUESTS, CURRENT_DOWNLOADS, id, 0, "", 0);
}

static char *put_text(char *at, const char *text, uint32_t length) {
  memcpy(at, &length, sizeof length);
  memcpy(at + sizeof length, text, length);
  return at + sizeof length + length;
}

/* Asks to schedule a download with a body of `length` bytes. */
static void send_schedule(uint64_t id, uint32_t length) {
  static char bytes[80000], body[65536];
  char name[32];
  char *at = bytes + sizeof(struct header);
  snprintf(name, sizeof name, "s%llu", (unsigned long long)id);
  at = put_text(at, name, (uint32_t)strlen(name));
  at = put_text(at, "", 0);
  at = put_text(at, "https://assets.example.com/1", 28);
  at = put_text(at, "POST", 4);
  at = put_text(at, body, length);
  at = put_text(at, "", 0);
  at = put_text(at, "group.x", 7);
  /* No size, not essential, priority 0, no manifest, state 0. */
  memset(at, 0, 15);
  at += 15;
  struct header header = {0x526f, 1, SCHEDULE, (uint32_t)(at - bytes - (long)sizeof header), id};
  memcpy(bytes, &header, sizeof header);
  send(channel(REQUESTS), bytes, (size_t)(at - bytes), MSG_NOSIGNAL);
}

static int32_t answered_status(void) {
  struct {
    struct header header;
    int32_t status;
  } answer = {.status = -1};
  recv(channel(REQUESTS), &answer, sizeof(struct header) + sizeof(int32_t), MSG_WAITALL);
  return answer.status;
}

/* H15: schedules 6 GB of downloads that the host would have to keep. Returns how the first that it didn't take was
   refused. */
EXPORT int32_t h15_schedule_flood(void) {
  int32_t status = 0;
  for (uint64_t id = 1; id < 100000 && status == 0; id++) {
    send_schedule(id, 60000);
    status = answered_status();
  }
  return status;
}

/* H15: has the list of those that it took sent again and again, and never reads it. */
EXPORT void h15_list_flood(void) {
  h15_schedule_flood();
  for (uint64_t id = 1u << 20;; id++) send_frame(REQUESTS, CURRENT_DOWNLOADS, id, 0, "", 0);
}

/* H15: schedules and reads no answer. */
EXPORT void h15_blind_schedule_flood(void) {
  for (uint64_t id = 1;; id++) send_schedule(id, 60000);
}

/* H15: activities without end, while the call that they would put off is still under way. */
EXPORT void h15_activities(void) {
  for (;;) {
    send_frame(REQUESTS, BEGIN_ACTIVITY, 0, 0, "", 0);
    send_frame(REQUESTS, END_ACTIVITY, 0, 0, "", 0);
  }
}

static void *active_thread(void *unused) {
  /* The end of one and the beginning of the next at once: no moment in between in which the runner could be frozen. */
  static const struct header both[] = {{0x526f, 1, END_ACTIVITY, 0, 0}, {0x526f, 1, BEGIN_ACTIVITY, 0, 0}};
  for (;;) {
    usleep(20000);
    send(channel(REQUESTS), both, sizeof both, MSG_NOSIGNAL);
  }
  return unused;
}

/* H15: the same after the call has returned: the call's clocks go on. */
EXPORT int32_t h15_leaves_activities(void) {
  pthread_t thread;
  send_frame(REQUESTS, BEGIN_ACTIVITY, 0, 0, "", 0);
  return pthread_create(&thread, NULL, active_thread, NULL);
}

static void *eating_thread(void *unused) {
  char bytes[4096];
  while (recv(channel(CALLS), bytes, sizeof bytes, 0) > 0) {
  }
  return unused;
}

/* H75: a thread that reads the host's next calls away. This call succeeds; a next one runs into its deadline. */
EXPORT int32_t h75_eats_calls(void) {
  pthread_t thread;
  return pthread_create(&thread, NULL, eating_thread, NULL);
}

/* H76: closes every channel and goes on. */
EXPORT void h76_close(void) {
  for (int descriptor; (descriptor = channel(CALLS)) >= 0;) close(descriptor);
  wait_forever();
}

static void *closing_thread(void *unused) {
  (void)unused;
  h76_close();
  return NULL;
}

/* H76: from a thread, after the first one has ended: the process looks like one that is ending, and isn't. */
EXPORT void h76_first_thread_gone(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, closing_thread, NULL) == 0) syscall(SYS_exit, 0);
}

/* H76: shuts them down and keeps them. */
EXPORT void h76_shut_down(void) {
  for (int which = 0; channel(which) >= 0; which++) shutdown(channel(which), SHUT_RDWR);
  wait_forever();
}

/* H76: puts something else in their place. */
EXPORT void h76_replace(void) {
  int file = open("/dev/null", O_RDWR);
  for (int descriptor; (descriptor = channel(CALLS)) >= 0;) dup2(file, descriptor);
  wait_forever();
}

/* --- Ends --------------------------------------------------------------------------------------------------------- */

/* H77: ends the process in mid-call, as if all were well. */
EXPORT void h77_exit(void) { exit(0); }
EXPORT void h77__exit(void) { _exit(0); }
EXPORT void h77_quick_exit(void) { quick_exit(0); }

static void *exiting_thread(void *unused) {
  _exit(0);
  return unused;
}

/* H77: the same from a thread of its own. */
EXPORT void h77_exit_in_thread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, exiting_thread, NULL);
  wait_forever();
}

/* H77: kills itself. As process 1 it can't: then it waits for its deadline. */
EXPORT void h77_kill_itself(void) {
  kill(getpid(), SIGKILL);
  wait_forever();
}

/* H78: the ways to crash. */
EXPORT void h78_abort(void) { abort(); }
EXPORT void h78_trap(void) { __builtin_trap(); }
EXPORT void h78_segv(void) { *(volatile int *)8 = 1; }

/* H78: jumps to nowhere: no symbol to name. */
EXPORT void h78_null_call(void) {
  void (*volatile nowhere)(void) = NULL;
  nowhere();
}

EXPORT int32_t h78_divide(void) {
  /* With a constant on either side the compiler finds a way around the division. */
  volatile int one = 1, zero = 0;
  return one / zero;
}

/* H78: overwrites its frame; the compiler's guard ends it. */
EXPORT int32_t h78_smash(void) {
  char frame[8];
  void *(*volatile fill)(void *, int, size_t) = memset;
  fill(frame, 'A', 64);
  return frame[0];
}

/* H78: a mapped file that has become shorter. */
EXPORT int32_t h78_bus(void) {
  int file = big_file("h78", 65536);
  volatile char *memory = mmap(NULL, 65536, PROT_READ, MAP_SHARED, file, 0);
  unlink(in_container("h78"));
  if (file < 0 || memory == MAP_FAILED || ftruncate(file, 0) < 0) return errno;
  return memory[4096];
}

static void *crashing_thread(void *unused) {
  h78_segv();
  return unused;
}

/* H78: crashes in a thread while the call waits. */
EXPORT void h78_thread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, crashing_thread, NULL);
  wait_forever();
}

/* H78: frees what it never had: the allocator's own check ends it. */
EXPORT void h78_free(void) {
  void (*volatile release)(void *) = free;
  char here[64];
  release(here + 16);
}

/* --- What the host leaks ------------------------------------------------------------------------------------------ */

static const char secret_name[] = "HOSTILE_CANARY=";

/* H82: a secret in the environment: any variable HOSTILE_CANARY that the host was started with. */
EXPORT int32_t h82_environment(void) {
  for (char **entry = environ; entry && *entry; entry++)
    if (strncmp(*entry, secret_name, sizeof secret_name - 1) == 0) return 0;
  return ENOENT;
}

/* H82: the same where the kernel put it at the start of the process: between the random bytes and the program's name at
   the stack's end. Clearing the environment doesn't clear that. */
EXPORT int32_t h82_initial_stack(void) {
  uintptr_t from = getauxval(AT_RANDOM), to = getauxval(AT_EXECFN);
  if (!from || from >= to) return EFAULT;
  return memmem((const void *)from, to - from, secret_name, sizeof secret_name - 1) ? 0 : ENOENT;
}

/* H82: every variable that an extension has no need of; the number of them, so 0 is right. */
EXPORT int32_t h82_unexpected_variables(void) {
  static const char *const expected[] = {"HOME=", "TMPDIR=", "LANG=", "TZ=", "MALLOC_ARENA_MAX=", "SWIFT_BACKTRACE=",
                                         "OUTRIDER_REPLACEMENTS="};
  int32_t unexpected = 0;
  for (char **entry = environ; entry && *entry; entry++) {
    bool is_expected = false;
    for (size_t index = 0; index < sizeof expected / sizeof *expected; index++)
      is_expected |= strncmp(*entry, expected[index], strlen(expected[index])) == 0;
    unexpected += !is_expected;
  }
  return unexpected;
}

/* H82: descriptors beside standard input, output and error and two channels; their number, so 0 is right. */
EXPORT int32_t h82_unexpected_descriptors(void) {
  struct stat status;
  int32_t sockets = 0, others = 0;
  for (int descriptor = 3; descriptor < 1024; descriptor++)
    if (fstat(descriptor, &status) == 0) *(S_ISSOCK(status.st_mode) ? &sockets : &others) += 1;
  return others + (sockets > 2 ? sockets - 2 : 0);
}

/* --- Sockets ------------------------------------------------------------------------------------------------------ */

static int32_t make_socket(int family, int kind, int protocol) { return opened(socket(family, kind, protocol)); }

/* H85: a socket of one family, by its name. */
EXPORT int32_t h85_socket(const char *name) {
  static const struct {
    const char *name;
    int family, kind, protocol;
  } sockets[] = {
      {"unix-stream", AF_UNIX, SOCK_STREAM, 0},
      {"unix-datagram", AF_UNIX, SOCK_DGRAM, 0},
      {"unix-seqpacket", AF_UNIX, SOCK_SEQPACKET, 0},
      {"tcp", AF_INET, SOCK_STREAM, 0},
      {"tcp6", AF_INET6, SOCK_STREAM, 0},
      {"udp", AF_INET, SOCK_DGRAM, IPPROTO_UDP},
      {"udp6", AF_INET6, SOCK_DGRAM, IPPROTO_UDP},
      {"udp-as-resolver", AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0},
      {"raw", AF_INET, SOCK_RAW, IPPROTO_ICMP},
      {"ping", AF_INET, SOCK_DGRAM, IPPROTO_ICMP},
      {"mptcp", AF_INET, SOCK_STREAM, 262},
      {"sctp", AF_INET, SOCK_STREAM, IPPROTO_SCTP},
      {"packet", AF_PACKET, SOCK_RAW, 0},
      {"netlink-route", AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 12},
      {"netlink-audit", AF_NETLINK, SOCK_RAW, 9},
      {"netlink-uevent", AF_NETLINK, SOCK_DGRAM, 15},
      {"alg", AF_ALG, SOCK_SEQPACKET, 0},
      {"vsock", AF_VSOCK, SOCK_STREAM, 0},
      {"xdp", AF_XDP, SOCK_RAW, 0},
      {"tipc", AF_TIPC, SOCK_SEQPACKET, 0},
      {"bluetooth", AF_BLUETOOTH, SOCK_RAW, 1},
      {"can", AF_CAN, SOCK_RAW, 1},
      {"kcm", AF_KCM, SOCK_DGRAM, 0},
      {"rds", AF_RDS, SOCK_SEQPACKET, 0},
      {"smc", AF_SMC, SOCK_STREAM, 0},
      {"out-of-range", 1000, SOCK_STREAM, 0},
  };
  for (size_t index = 0; index < sizeof sockets / sizeof *sockets; index++)
    if (strcmp(sockets[index].name, name) == 0)
      return make_socket(sockets[index].family, sockets[index].kind, sockets[index].protocol);
  return -1;
}

/* H85: a pair, which reaches nobody but holds memory. */
EXPORT int32_t h85_socketpair(void) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0) return errno;
  close(ends[0]);
  close(ends[1]);
  return 0;
}

/* Binds, listens and connects in one process: so a positive control needs no partner. */
static int32_t meet(int family, const void *address, socklen_t length) {
  struct sockaddr_storage bound;
  socklen_t capacity = sizeof bound;
  int listener = socket(family, SOCK_STREAM, 0), client = -1;
  int32_t code = outcome(listener);
  if (code == 0) code = outcome(bind(listener, address, length));
  if (code == 0) code = outcome(listen(listener, 1));
  if (code == 0) code = outcome(getsockname(listener, (struct sockaddr *)&bound, &capacity));
  if (code == 0) code = outcome(client = socket(family, SOCK_STREAM, 0));
  if (code == 0) code = outcome(connect(client, (struct sockaddr *)&bound, capacity));
  if (client >= 0) close(client);
  if (listener >= 0) close(listener);
  return code;
}

/* H83, H84: an abstract name, for a partner outside. */
EXPORT int32_t h84_abstract(void) {
  struct sockaddr_un address = {AF_UNIX, "\0outrider-h84"};
  return meet(AF_UNIX, &address, offsetof(struct sockaddr_un, sun_path) + 13);
}

/* H84: a name in the container, which an outside partner sees. */
EXPORT int32_t h84_pathname(void) {
  struct sockaddr_un address = {AF_UNIX, ""};
  const char *path = in_container("h84");
  if (strlen(path) >= sizeof address.sun_path) return ENAMETOOLONG;
  strcpy(address.sun_path, path);
  int32_t code = meet(AF_UNIX, &address, sizeof address);
  unlink(path);
  return code;
}

/* H83: a service's socket, by its path. */
EXPORT int32_t h83_connect(const char *path) {
  struct sockaddr_un address = {AF_UNIX, ""};
  int client = socket(AF_UNIX, SOCK_STREAM, 0);
  if (client < 0) return errno;
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  int32_t code = outcome(connect(client, (struct sockaddr *)&address, sizeof address));
  close(client);
  return code;
}

/* H86: TCP on the machine's own loopback. */
EXPORT int32_t h86_loopback(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  return meet(AF_INET, &address, sizeof address);
}

/* H86: the same as an IPv4-mapped IPv6 address. */
EXPORT int32_t h86_mapped_loopback(void) {
  struct sockaddr_in6 address = {.sin6_family = AF_INET6};
  inet_pton(AF_INET6, "::ffff:127.0.0.1", &address.sin6_addr);
  return meet(AF_INET6, &address, sizeof address);
}

/* H86: an address of the documentation range, which no packet may ever be sent to. */
EXPORT int32_t h86_elsewhere(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(80), .sin_addr = {htonl(0xc0000201)}};
  int client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (client < 0) return errno;
  int32_t code = outcome(connect(client, (struct sockaddr *)&address, sizeof address));
  close(client);
  return code == EINPROGRESS ? 0 : code;
}

/* H85: a datagram that carries something out; to the loopback's discard port. */
EXPORT int32_t h85_datagram(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int client = socket(AF_INET, SOCK_DGRAM, 0);
  if (client < 0) return errno;
  int32_t code = outcome(sendto(client, "secret", 6, 0, (struct sockaddr *)&address, sizeof address));
  close(client);
  return code;
}

/* H85: TCP without connect(2), which a filter or Landlock may look at alone. Nobody listens: that refusal is an answer
   from outside all the same. */
EXPORT int32_t h85_fast_open(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int client = socket(AF_INET, SOCK_STREAM, 0);
  if (client < 0) return errno;
  int32_t code = outcome(sendto(client, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, (struct sockaddr *)&address, sizeof address));
  close(client);
  return code == ECONNREFUSED || code == EINPROGRESS ? 0 : code;
}

/* H85: the inherited channel, as a way to another address. */
EXPORT int32_t h85_channel_elsewhere(void) {
  struct sockaddr_un address = {AF_UNIX, "\0outrider-h85"};
  return outcome(sendto(channel(REQUESTS), "x", 1, MSG_NOSIGNAL, (struct sockaddr *)&address, sizeof address));
}

/* H85: the inherited channel, connected to someone else. */
EXPORT int32_t h85_reconnect_channel(void) {
  struct sockaddr_un address = {AF_UNIX, "\0outrider-h85"};
  return outcome(connect(channel(REQUESTS), (struct sockaddr *)&address, sizeof address));
}

/* One function of a thread's stack, named so that a terminal would obey it. */
static void say_frame(uint32_t thread, uint32_t index) {
  char body[256] = "";
  memcpy(body, &thread, 4);
  memcpy(body + 4, &index, 4);
  char *end = put_text(put_text(body + 8, "/lib/\033[2Jc.so", 14), "\033]0;innocent\a", 13) + 16;
  send_frame(CALLS, THREAD_FRAME, 0, (uint32_t)(end - body), body, (size_t)(end - body));
}

static void say_told(uint32_t thread) {
  char body[64];
  memcpy(body, &thread, 4);
  char *end = put_text(body + 4, "\033[31mworker", 11);
  send_frame(CALLS, THREAD_TOLD, 0, (uint32_t)(end - body), body, (size_t)(end - body));
}

static void spin(void) {
  for (volatile unsigned long turns = 0;; turns++) {
  }
}

/* H141: its time is over, and it is asked where its threads are: it takes memory instead. */
static void greedy(int number) {
  (void)number;
  for (;;) {
    volatile char *more = malloc(1 << 20);
    if (!more) continue;
    for (size_t at = 0; at < 1 << 20; at += 4096) more[at] = 1;
  }
}

EXPORT void h141_greedy(void) {
  signal(SIGURG, greedy);
  spin();
}

/* H141: tells of ten thousand threads that it hasn't got. */
static void liar(int number) {
  (void)number;
  for (uint32_t thread = 0; thread < 10000; thread++) {
    for (uint32_t frame = 0; frame < 40; frame++) say_frame(thread, frame);
    if (thread % 3) say_told(thread);
  }
  spin();
}

EXPORT void h141_liar(void) {
  signal(SIGURG, liar);
  spin();
}

/* H141: has told before anybody asks. */
EXPORT int32_t h141_early(void) {
  say_frame(1, 0);
  say_told(1);
  return 0;
}
