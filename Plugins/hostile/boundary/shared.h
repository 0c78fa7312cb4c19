/* What the behaviours of this folder share. */
#ifndef HOSTILE_BOUNDARY_H
#define HOSTILE_BOUNDARY_H

#include "hostile.h"

#include <sys/socket.h>

int32_t h15_schedule_flood(void);
void h76_close(void);
void h78_segv(void);

extern char **environ;

/* The sockets that the runner inherited: first the one that carries calls, then the one that carries requests. */
enum { CALLS = 0, REQUESTS = 1 };

static inline int channel(int which) {
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
static inline void send_frame(int which, uint8_t kind, uint64_t id, uint32_t claimed, const void *body, size_t length) {
  char bytes[4096];
  struct header header = {0x526f, 1, kind, claimed, id};
  memcpy(bytes, &header, sizeof header);
  memcpy(bytes + sizeof header, body, length);
  send(channel(which), bytes, sizeof header + length, MSG_NOSIGNAL);
}

/* Forges a frame and never returns, so that nothing else is what the host ends the run for. */
static inline void forge(int which, uint8_t kind, uint64_t id, const void *body, size_t length) {
  send_frame(which, kind, id, (uint32_t)length, body, length);
  wait_forever();
}

static inline long send_descriptors(int which, int count, size_t control_length) {
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

static inline char *put_text(char *at, const char *text, uint32_t length) {
  memcpy(at, &length, sizeof length);
  memcpy(at + sizeof length, text, length);
  return at + sizeof length + length;
}

/* Asks to schedule a download with a body of `length` bytes. */
static inline void send_schedule(uint64_t id, uint32_t length) {
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

static const char secret_name[] = "HOSTILE_CANARY=";

/* Binds, listens and connects in one process: so a positive control needs no partner. */
static inline int32_t meet(int family, const void *address, socklen_t length) {
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

/* One function of a thread's stack, named so that a terminal would obey it. */
static inline void say_frame(uint32_t thread, uint32_t index) {
  char body[256] = "";
  memcpy(body, &thread, 4);
  memcpy(body + 4, &index, 4);
  char *end = put_text(put_text(body + 8, "/lib/\033[2Jc.so", 14), "\033]0;innocent\a", 13) + 16;
  send_frame(CALLS, THREAD_FRAME, 0, (uint32_t)(end - body), body, (size_t)(end - body));
}

static inline void say_told(uint32_t thread) {
  char body[64];
  memcpy(body, &thread, 4);
  char *end = put_text(body + 4, "\033[31mworker", 11);
  send_frame(CALLS, THREAD_TOLD, 0, (uint32_t)(end - body), body, (size_t)(end - body));
}

static inline void spin(void) {
  for (volatile unsigned long turns = 0;; turns++) {
  }
}

#endif
