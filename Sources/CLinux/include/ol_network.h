/* A network namespace that holds nothing but a loopback, and TCP in it and outside. 0 or an errno value. */
#ifndef OL_NETWORK_H
#define OL_NETWORK_H
#include <stddef.h>
#include <stdint.h>

/* An address of 4 or 16 bytes, in the order of the network. */
struct ol_address {
  int length;
  uint8_t bytes[16];
};

/* Takes the loopback of the calling thread's network namespace up, and lets every address lead to it: a local route to all of them
   (ip-route(8), type local). Needs CAP_NET_ADMIN there. `has_six` is 0 where the kernel has no IPv6. */
int ol_lead_all_to_loopback(int *_Nonnull has_six);
/* A socket(7) that listens to one address alone, non-blocking; IP_FREEBIND, since no interface has that address. */
int ol_listen(const struct ol_address *_Nonnull address, uint16_t port, int backlog, int *_Nonnull listener);
/* A packet(7) socket that receives the beginning of each TCP connection that is tried on the loopback (SYN without ACK), from the
   network header on, and nothing else. Needs CAP_NET_RAW. */
int ol_watch_connections(int *_Nonnull watcher);
/* How many it had no room for, since it was asked last (PACKET_STATISTICS). */
int ol_missed_connections(int watcher, uint32_t *_Nonnull count);

/* Begins to connect a non-blocking TCP socket: 0 or EINPROGRESS with `*connection`, else what is wrong. */
int ol_connect(const struct ol_address *_Nonnull address, uint16_t port, int *_Nonnull connection);
/* What became of it (SO_ERROR). */
int ol_connection_error(int connection);
/* The next close(2) of a TCP socket takes the connection back (SO_LINGER of 0 s): the other side sees a reset. */
int ol_reset_at_close(int connection);
/* read(2) and write(2) of a non-blocking socket, without SIGPIPE. */
int ol_read_some(int connection, void *_Nonnull bytes, size_t count, size_t *_Nonnull done);
int ol_write_some(int connection, const void *_Nonnull bytes, size_t count, size_t *_Nonnull done);
int ol_end_writing(int connection);

/* getaddrinfo(3) for TCP: at most `capacity` addresses, each once. 0, or EAI_…, or -1 with errno for EAI_SYSTEM. Blocks. */
int ol_resolve(const char *_Nonnull name, struct ol_address *_Nonnull addresses, int capacity, int *_Nonnull count);
/* gai_strerror(3). */
const char *_Nonnull ol_resolve_message(int code);

#endif
