/* Unix sockets that carry descriptors, pipes, epoll, timerfd, eventfd. 0 or an errno value. */
#ifndef OL_SOCKET_H
#define OL_SOCKET_H
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OL_MOST_DESCRIPTORS 253

/* `kind` is SOCK_STREAM or SOCK_SEQPACKET; close-on-exec. */
int ol_socketpair(int kind, int *_Nonnull first, int *_Nonnull second);
int ol_pipe(int *_Nonnull reader, int *_Nonnull writer);
/* One sendmsg(2) without SIGPIPE; `flags` may hold MSG_DONTWAIT. */
int ol_send(int socket, const void *_Nullable bytes, size_t count, const int *_Nullable descriptors,
            size_t descriptor_count, int flags, size_t *_Nonnull sent);
/* One recvmsg(2). Received descriptors are close-on-exec; `*descriptor_count` says how many fit on the way in, how many
   came on the way out. `*truncated` is 1 when data or descriptors were cut off; what was cut is closed. */
int ol_receive(int socket, void *_Nonnull bytes, size_t capacity, int *_Nullable descriptors,
               size_t *_Nonnull descriptor_count, int flags, size_t *_Nonnull received, int *_Nonnull truncated);
/* accept4(2): close-on-exec, non-blocking. */
int ol_accept(int listener, int *_Nonnull connection);
int ol_set_nonblocking(int descriptor);
int ol_epoll_create(int *_Nonnull epoll);
/* Level-triggered EPOLLIN. `key` comes back from ol_epoll_wait. */
int ol_epoll_add(int epoll, int descriptor, uint64_t key);
/* EPOLLIN and EPOLLOUT as asked, of a descriptor that was added. */
int ol_epoll_change(int epoll, int descriptor, uint64_t key, int reads, int writes);
int ol_epoll_remove(int epoll, int descriptor);
/* Waits at most so many milliseconds; -1: for ever. `count` is 0 where nothing came. */
int ol_epoll_wait(int epoll, uint64_t *_Nonnull keys, int capacity, int milliseconds, int *_Nonnull count);
int ol_timerfd(int *_Nonnull timer);
/* Fires at `nanoseconds` of CLOCK_BOOTTIME; 0 disarms. */
int ol_timerfd_set(int timer, uint64_t nanoseconds);
/* A timer of CLOCK_MONOTONIC, which stands still while the machine sleeps. */
int ol_lease(int *_Nonnull timer);
/* Fires once, after so many nanoseconds; 0 disarms. Either takes back an expiry that hasn't been read. */
int ol_lease_extend(int timer, uint64_t nanoseconds);
/* 1 when it has fired since; without waiting. */
int ol_lease_has_ended(int timer);
int ol_eventfd(int *_Nonnull event);
uint64_t ol_boottime(void);
/* The same within nanoseconds. */
int ol_await_readable(int descriptor, long nanoseconds);
/* 1 when something is readable or hung up within `milliseconds`, else 0; -1 waits for ever. */
int ol_poll_readable(int descriptor, int milliseconds);
/* 1 when nothing is left to read and no writer is left. */
int ol_is_hung_up(int descriptor);

/* Of a TCP socket's TCP_INFO (tcp(7)). */
struct ol_tcp_receive {
    /* Microseconds, as the receiver sees it; 0 without an estimate. */
    uint32_t round_trip;
    /* Microseconds: of what was sent, the handshake among it. */
    uint32_t shortest_round_trip;
    /* Since the connection began. */
    uint64_t bytes;
    /* That a segment may have, as the peer was told. */
    uint32_t segment_bytes;
};
int ol_tcp_receive_info(int socket, struct ol_tcp_receive *_Nonnull receive);

#endif
