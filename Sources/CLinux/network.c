#include "ol_network.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* linux/in.h and linux/in6.h, which can't stand beside the C library's headers. */
enum { OL_IP_FREEBIND = 15, OL_IPV6_FREEBIND = 78 };

static int failed(long result) { return result < 0 ? errno : 0; }

/* Of a socket that has failed, whose errno its closing may change. */
static int given_up(int socket) {
  int error = errno;
  close(socket);
  return error;
}

static int raise_loopback(void) {
  int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (control < 0) return errno;
  struct ifreq request;
  memset(&request, 0, sizeof request);
  memcpy(request.ifr_name, "lo", 3);
  if (ioctl(control, SIOCGIFFLAGS, &request) < 0) return given_up(control);
  request.ifr_flags |= IFF_UP;
  if (ioctl(control, SIOCSIFFLAGS, &request) < 0) return given_up(control);
  close(control);
  return 0;
}

static int lead_all(int netlink, int family, unsigned loopback) {
  struct {
    struct nlmsghdr header;
    struct rtmsg route;
    struct rtattr attribute;
    uint32_t interface;
  } request = {
      .header = {.nlmsg_len = sizeof request, .nlmsg_type = RTM_NEWROUTE, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE},
      .route = {.rtm_family = (unsigned char)family, .rtm_table = RT_TABLE_LOCAL, .rtm_protocol = RTPROT_BOOT,
                .rtm_scope = RT_SCOPE_HOST, .rtm_type = RTN_LOCAL},
      .attribute = {.rta_len = RTA_LENGTH(sizeof(uint32_t)), .rta_type = RTA_OIF},
      .interface = loopback,
  };
  struct {
    struct nlmsghdr header;
    struct nlmsgerr error;
    char rest[512];
  } answer;
  if (send(netlink, &request, sizeof request, 0) < 0) return errno;
  ssize_t count = recv(netlink, &answer, sizeof answer, 0);
  if (count < 0) return errno;
  if (count < (ssize_t)(sizeof answer.header + sizeof answer.error.error) || answer.header.nlmsg_type != NLMSG_ERROR)
    return EPROTO;
  return -answer.error.error;
}

int ol_lead_all_to_loopback(int *has_six) {
  int error = raise_loopback();
  if (error != 0) return error;
  unsigned loopback = if_nametoindex("lo");
  if (loopback == 0) return errno;
  int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (netlink < 0) return errno;
  error = lead_all(netlink, AF_INET, loopback);
  int six = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  *has_six = six >= 0;
  if (six >= 0) {
    close(six);
    /* Without a route they are unreachable, and the host isn't told of attempts. */
    if (error == 0 && lead_all(netlink, AF_INET6, loopback) != 0) *has_six = 0;
  }
  close(netlink);
  return error;
}

union place {
  struct sockaddr any;
  struct sockaddr_in four;
  struct sockaddr_in6 six;
};

static socklen_t fill(union place *place, const struct ol_address *address, uint16_t port) {
  memset(place, 0, sizeof *place);
  if (address->length == 4) {
    place->four.sin_family = AF_INET;
    place->four.sin_port = htons(port);
    memcpy(&place->four.sin_addr, address->bytes, 4);
    return sizeof place->four;
  }
  place->six.sin6_family = AF_INET6;
  place->six.sin6_port = htons(port);
  memcpy(&place->six.sin6_addr, address->bytes, 16);
  return sizeof place->six;
}

int ol_listen(const struct ol_address *address, uint16_t port, int backlog, int *listener) {
  union place place;
  socklen_t length = fill(&place, address, port);
  int made = socket(place.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1;
  if (made < 0) return errno;
  int bound = address->length == 4 ? setsockopt(made, IPPROTO_IP, OL_IP_FREEBIND, &yes, sizeof yes)
                                   : setsockopt(made, IPPROTO_IPV6, OL_IPV6_FREEBIND, &yes, sizeof yes);
  if (bound == 0 && address->length != 4) bound = setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
  if (bound != 0 || bind(made, &place.any, length) < 0 || listen(made, backlog) < 0) return given_up(made);
  *listener = made;
  return 0;
}

int ol_watch_connections(int *watcher) {
  struct sock_filter steps[] = {
      /* Each packet of a loopback goes out and comes in: once is enough. */
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 15, 0),
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
      BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 4),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 4, 0, 5),
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 9),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 0, 10),
      BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
      BPF_STMT(BPF_LD | BPF_B | BPF_IND, 13),
      BPF_JUMP(BPF_JMP | BPF_JA, 4, 0, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 6, 0, 6),
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 6),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 0, 4),
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 40 + 13),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x12 /* SYN, ACK */),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x02, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 128),
      BPF_STMT(BPF_RET | BPF_K, 0),
  };
  struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
  /* With no protocol it receives nothing before the filter is there. */
  int made = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return errno;
  struct sockaddr_ll place = {
      .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)if_nametoindex("lo")};
  if (setsockopt(made, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) < 0 ||
      bind(made, (struct sockaddr *)&place, sizeof place) < 0)
    return given_up(made);
  *watcher = made;
  return 0;
}

int ol_missed_connections(int watcher, uint32_t *count) {
  struct tpacket_stats statistics = {0, 0};
  socklen_t length = sizeof statistics;
  if (getsockopt(watcher, SOL_PACKET, PACKET_STATISTICS, &statistics, &length) < 0) return errno;
  *count = statistics.tp_drops;
  return 0;
}

int ol_connect(const struct ol_address *address, uint16_t port, int *connection) {
  union place place;
  socklen_t length = fill(&place, address, port);
  int made = socket(place.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1;
  if (made < 0) return errno;
  /* What the plugin sends isn't held back a second time. */
  setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (connect(made, &place.any, length) < 0 && errno != EINPROGRESS) return given_up(made);
  *connection = made;
  return 0;
}

int ol_connection_error(int connection) {
  int error = 0;
  socklen_t length = sizeof error;
  if (getsockopt(connection, SOL_SOCKET, SO_ERROR, &error, &length) < 0) return errno;
  return error;
}

int ol_reset_at_close(int connection) {
  struct linger now = {1, 0};
  return failed(setsockopt(connection, SOL_SOCKET, SO_LINGER, &now, sizeof now));
}

int ol_read_some(int connection, void *bytes, size_t count, size_t *done) {
  ssize_t result = recv(connection, bytes, count, MSG_DONTWAIT);
  *done = result < 0 ? 0 : (size_t)result;
  return failed(result);
}

int ol_write_some(int connection, const void *bytes, size_t count, size_t *done) {
  ssize_t result = send(connection, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
  *done = result < 0 ? 0 : (size_t)result;
  return failed(result);
}

int ol_end_writing(int connection) { return failed(shutdown(connection, SHUT_WR)); }

int ol_resolve(const char *name, struct ol_address *addresses, int capacity, int *count) {
  struct addrinfo hints, *found = NULL;
  memset(&hints, 0, sizeof hints);
  hints.ai_socktype = SOCK_STREAM;
  int code = getaddrinfo(name, NULL, &hints, &found);
  if (code != 0) return code == EAI_SYSTEM ? -1 : code;
  *count = 0;
  for (struct addrinfo *next = found; next && *count < capacity; next = next->ai_next) {
    struct ol_address *address = &addresses[*count];
    memset(address, 0, sizeof *address);
    if (next->ai_family == AF_INET) {
      address->length = 4;
      memcpy(address->bytes, &((struct sockaddr_in *)next->ai_addr)->sin_addr, 4);
    } else if (next->ai_family == AF_INET6) {
      address->length = 16;
      memcpy(address->bytes, &((struct sockaddr_in6 *)next->ai_addr)->sin6_addr, 16);
    } else {
      continue;
    }
    int is_new = 1;
    for (int index = 0; index < *count; index++)
      if (memcmp(&addresses[index], address, sizeof *address) == 0) is_new = 0;
    *count += is_new;
  }
  freeaddrinfo(found);
  return 0;
}

const char *ol_resolve_message(int code) { return gai_strerror(code); }
