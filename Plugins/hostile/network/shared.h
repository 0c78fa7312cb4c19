/* What the behaviours with hosts in their policy share. */
#ifndef HOSTILE_NETWORK_H
#define HOSTILE_NETWORK_H

#include "hostile.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

/* What their policy lists: a port of the loopback where nothing has to listen. PORT is another one. */
enum { LISTED = 9, PORT = 10 };

union place {
  struct sockaddr any;
  struct sockaddr_in four;
  struct sockaddr_in6 six;
};

/* Of an address as inet_pton(3) reads it; returns how many bytes it has, 0 where the text is none. */
static inline socklen_t place_of(const char *text, uint16_t port, union place *place) {
  memset(place, 0, sizeof *place);
  if (inet_pton(AF_INET, text, &place->four.sin_addr) == 1) {
    place->four.sin_family = AF_INET;
    place->four.sin_port = htons(port);
    return sizeof place->four;
  }
  if (inet_pton(AF_INET6, text, &place->six.sin6_addr) != 1) return 0;
  place->six.sin6_family = AF_INET6;
  place->six.sin6_port = htons(port);
  return sizeof place->six;
}

/* Without walls a listener is there: so a positive control needs no partner. Inside them a listener is refused, too. */
static inline void listen_at(const char *text, uint16_t port) {
  union place place;
  socklen_t length = place_of(text, port, &place);
  int listener = socket(place.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener >= 0 && (bind(listener, &place.any, length) < 0 || listen(listener, 8) < 0)) close(listener);
}

/* Connects, and leaves the connection open: its descriptor, or -1. */
static inline int connected(const char *text, uint16_t port) {
  union place place;
  socklen_t length = place_of(text, port, &place);
  int client = socket(place.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (client < 0 || connect(client, &place.any, length) == 0) return client;
  int code = errno;
  close(client);
  errno = code;
  return -1;
}

/* A connection to what is listed. Its host may have cut it off before connect(2) returns: nothing has to listen there, and of too many
   the relay resets some. That is an answer, and the next try another connection. */
static inline int connected_as_listed(void) {
  int client;
  do client = connected("127.0.0.1", LISTED);
  while (client < 0 && errno == ECONNRESET);
  return client;
}

static inline int tcp(void) { return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); }

#endif
