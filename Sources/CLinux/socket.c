#include "ol_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

int ol_socketpair(int kind, int *first, int *second) {
  int pair[2];
  if (socketpair(AF_UNIX, kind | SOCK_CLOEXEC, 0, pair) < 0) return errno;
  *first = pair[0];
  *second = pair[1];
  return 0;
}

int ol_pipe(int *reader, int *writer) {
  int pair[2];
  if (pipe2(pair, O_CLOEXEC) < 0) return errno;
  *reader = pair[0];
  *writer = pair[1];
  return 0;
}

union control {
  struct cmsghdr header;
  char bytes[CMSG_SPACE(OL_MOST_DESCRIPTORS * sizeof(int))];
};

int ol_send(int socket, const void *bytes, size_t count, const int *descriptors, size_t descriptor_count, int flags,
            size_t *sent) {
  if (descriptor_count > OL_MOST_DESCRIPTORS) return EINVAL;
  struct iovec vector = {(void *)bytes, count};
  union control control;
  struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
  if (descriptor_count) {
    memset(&control, 0, sizeof control);
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(descriptor_count * sizeof(int));
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptor_count * sizeof(int));
    memcpy(CMSG_DATA(header), descriptors, descriptor_count * sizeof(int));
  }
  ssize_t result = sendmsg(socket, &message, MSG_NOSIGNAL | flags);
  if (result < 0) return errno;
  *sent = (size_t)result;
  return 0;
}

int ol_receive(int socket, void *bytes, size_t capacity, int *descriptors, size_t *descriptor_count, int flags,
               size_t *received, int *truncated) {
  struct iovec vector = {bytes, capacity};
  union control control;
  struct msghdr message = {
      .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control};
  ssize_t result = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
  if (result < 0) return errno;
  size_t room = *descriptor_count, count = 0;
  *truncated = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
  for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    size_t carried = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t index = 0; index < carried; index++) {
      int descriptor;
      memcpy(&descriptor, CMSG_DATA(header) + index * sizeof(int), sizeof(int));
      if (count < room) {
        descriptors[count++] = descriptor;
      } else {
        close(descriptor);
        *truncated = 1;
      }
    }
  }
  *descriptor_count = count;
  *received = (size_t)result;
  return 0;
}

int ol_accept(int listener, int *connection) {
  *connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  return *connection < 0 ? errno : 0;
}

int ol_set_nonblocking(int descriptor) {
  int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) < 0) return errno;
  return 0;
}

int ol_epoll_create(int *epoll) {
  *epoll = epoll_create1(EPOLL_CLOEXEC);
  return *epoll < 0 ? errno : 0;
}

int ol_epoll_add(int epoll, int descriptor, uint64_t key) {
  struct epoll_event event = {.events = EPOLLIN, .data.u64 = key};
  return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) < 0 ? errno : 0;
}

int ol_epoll_change(int epoll, int descriptor, uint64_t key, int reads, int writes) {
  struct epoll_event event = {
      .events = (reads ? (uint32_t)EPOLLIN : 0) | (writes ? (uint32_t)EPOLLOUT : 0), .data.u64 = key};
  return epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event) < 0 ? errno : 0;
}

int ol_epoll_remove(int epoll, int descriptor) {
  return epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, NULL) < 0 ? errno : 0;
}

int ol_epoll_wait(int epoll, uint64_t *keys, int capacity, int milliseconds, int *count) {
  struct epoll_event events[64];
  int result = epoll_wait(epoll, events, capacity < 64 ? capacity : 64, milliseconds);
  if (result < 0) return errno;
  for (int index = 0; index < result; index++) keys[index] = events[index].data.u64;
  *count = result;
  return 0;
}

int ol_timerfd(int *timer) {
  *timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  return *timer < 0 ? errno : 0;
}

int ol_timerfd_set(int timer, uint64_t nanoseconds) {
  struct itimerspec when = {{0, 0}, {(time_t)(nanoseconds / 1000000000u), (long)(nanoseconds % 1000000000u)}};
  return timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL) < 0 ? errno : 0;
}

int ol_lease(int *timer) {
  *timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  return *timer < 0 ? errno : 0;
}

int ol_lease_extend(int timer, uint64_t nanoseconds) {
  struct itimerspec when = {{0, 0}, {(time_t)(nanoseconds / 1000000000u), (long)(nanoseconds % 1000000000u)}};
  return timerfd_settime(timer, 0, &when, NULL) < 0 ? errno : 0;
}

int ol_lease_has_ended(int timer) {
  uint64_t times = 0;
  return read(timer, &times, sizeof times) == sizeof times && times > 0;
}

int ol_eventfd(int *event) {
  *event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return *event < 0 ? errno : 0;
}

uint64_t ol_boottime(void) {
  struct timespec time;
  clock_gettime(CLOCK_BOOTTIME, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

int ol_is_hung_up(int descriptor) {
  struct pollfd entry = {descriptor, POLLIN, 0};
  return poll(&entry, 1, 0) > 0 && (entry.revents & (POLLHUP | POLLIN)) == POLLHUP;
}

int ol_await_readable(int descriptor, long nanoseconds) {
  struct pollfd entry = {descriptor, POLLIN, 0};
  struct timespec timeout = {0, nanoseconds};
  return ppoll(&entry, 1, &timeout, NULL) > 0;
}

int ol_poll_readable(int descriptor, int milliseconds) {
  struct pollfd entry = {descriptor, POLLIN, 0};
  int result;
  do result = poll(&entry, 1, milliseconds);
  while (result < 0 && errno == EINTR);
  return result > 0;
}

/* What Linux tells since 4.6 and <netinet/tcp.h> doesn't declare yet. */
struct longer_tcp_info {
    struct tcp_info info;
    uint64_t pacing_rate, max_pacing_rate, bytes_acked, bytes_received;
    uint32_t segments_out, segments_in, not_sent, min_rtt;
};

int ol_tcp_receive_info(int socket, struct ol_tcp_receive *receive) {
    struct longer_tcp_info info = {0};
    socklen_t length = sizeof info;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return errno;
    if (length < sizeof info) return ENOPROTOOPT;
    receive->round_trip = info.info.tcpi_rcv_rtt;
    receive->shortest_round_trip = info.min_rtt;
    receive->bytes = info.bytes_received;
    receive->segment_bytes = info.info.tcpi_advmss;
    return 0;
}
