/* A socket of one family, by its name.
 *
 * H85: No socket: unix-stream.
 *   call i32(cstring) unix-stream
 *   expect returned 97, denied socket, works without walls
 *
 * H85: No socket: unix-datagram.
 *   call i32(cstring) unix-datagram
 *   expect returned 97, denied socket, works without walls
 *
 * H85: No socket: unix-seqpacket.
 *   call i32(cstring) unix-seqpacket
 *   expect returned 97, denied socket, works without walls
 *
 * H85: No socket: tcp.
 *   call i32(cstring) tcp
 *   expect returned 97, denied socket, works without walls
 *
 * H85: No socket: tcp6.
 *   call i32(cstring) tcp6
 *   expect returned 97, denied socket, works without walls
 *
 * H85: No socket: udp.
 *   call i32(cstring) udp
 *   expect returned 97, denied socket, works without walls
 *
 * H85: No socket: udp6.
 *   call i32(cstring) udp6
 *   expect returned 97, denied socket, works without walls
 *
 * H85: No socket: raw.
 *   call i32(cstring) raw
 *   expect returned 97, denied socket, works without walls
 *
 * H85: No socket: ping.
 *   call i32(cstring) ping
 *   expect returned 97, denied socket
 *
 * H85: No socket: mptcp.
 *   call i32(cstring) mptcp
 *   expect returned 97, denied socket, works without walls
 *
 * H85: No socket: sctp.
 *   call i32(cstring) sctp
 *   expect returned 97, denied socket, works without walls
 *
 * H85: No socket: packet.
 *   call i32(cstring) packet
 *   expect returned 97, denied socket, works without walls
 *
 * H85: No socket: netlink-route.
 *   call i32(cstring) netlink-route
 *   expect returned 97, denied socket, works without walls
 *
 * H85: No socket: netlink-audit.
 *   call i32(cstring) netlink-audit
 *   expect returned 97, denied socket, works without walls
 *
 * H85: No socket: netlink-uevent.
 *   call i32(cstring) netlink-uevent
 *   expect returned 97, denied socket, works without walls
 *
 * H85: No socket: alg.
 *   call i32(cstring) alg
 *   expect returned 97, denied socket, works without walls
 *
 * H85: No socket: vsock.
 *   call i32(cstring) vsock
 *   expect returned 97, denied socket, works without walls
 *
 * H85: No socket: xdp.
 *   call i32(cstring) xdp
 *   expect returned 97, denied socket, works without walls
 *
 * H85: No socket: tipc.
 *   call i32(cstring) tipc
 *   expect returned 97, denied socket, works without walls
 *
 * H85: No socket: bluetooth.
 *   call i32(cstring) bluetooth
 *   expect returned 97, denied socket, works without walls
 *
 * H85: No socket: can.
 *   call i32(cstring) can
 *   expect returned 97, denied socket, works without walls
 *
 * H85: No socket: kcm.
 *   call i32(cstring) kcm
 *   expect returned 97, denied socket, works without walls
 *
 * H85: No socket: rds.
 *   call i32(cstring) rds
 *   expect returned 97, denied socket, works without walls
 *
 * H85: No socket: smc.
 *   call i32(cstring) smc
 *   expect returned 97, denied socket, works without walls
 *
 * H85: The resolver's socket is refused too, and as a published probe not recorded.
 *   call i32(cstring) udp-as-resolver
 *   expect returned 97, works without walls
 *
 * H85: A family that doesn't exist.
 *   call i32(cstring) out-of-range
 *   expect returned 97, denied socket
 *
 * H143: Nor with a host in its policy: unix-stream.
 *   call i32(cstring) unix-stream
 *   with --network 127.0.0.1:9
 *   expect returned 97, denied socket, works without walls
 *
 * H143: Nor with a host in its policy: udp.
 *   call i32(cstring) udp
 *   with --network 127.0.0.1:9
 *   expect returned 97, denied socket, works without walls
 *
 * H143: Nor with a host in its policy: udp6.
 *   call i32(cstring) udp6
 *   with --network 127.0.0.1:9
 *   expect returned 97, denied socket, works without walls
 *
 * H143: Nor with a host in its policy: raw.
 *   call i32(cstring) raw
 *   with --network 127.0.0.1:9
 *   expect returned 97, denied socket, works without walls
 *
 * H143: Nor with a host in its policy: ping.
 *   call i32(cstring) ping
 *   with --network 127.0.0.1:9
 *   expect returned 97, denied socket
 *
 * H143: Nor with a host in its policy: mptcp.
 *   call i32(cstring) mptcp
 *   with --network 127.0.0.1:9
 *   expect returned 97, denied socket, works without walls
 *
 * H143: Nor with a host in its policy: sctp.
 *   call i32(cstring) sctp
 *   with --network 127.0.0.1:9
 *   expect returned 97, denied socket, works without walls
 *
 * H143: Nor with a host in its policy: packet.
 *   call i32(cstring) packet
 *   with --network 127.0.0.1:9
 *   expect returned 97, denied socket, works without walls
 *
 * H143: Nor with a host in its policy: netlink-route.
 *   call i32(cstring) netlink-route
 *   with --network 127.0.0.1:9
 *   expect returned 97, denied socket, works without walls
 *
 * H143: Nor with a host in its policy: alg.
 *   call i32(cstring) alg
 *   with --network 127.0.0.1:9
 *   expect returned 97, denied socket, works without walls
 *
 * H143: Nor with a host in its policy: vsock.
 *   call i32(cstring) vsock
 *   with --network 127.0.0.1:9
 *   expect returned 97, denied socket, works without walls
 *
 * H143: Nor with a host in its policy: xdp.
 *   call i32(cstring) xdp
 *   with --network 127.0.0.1:9
 *   expect returned 97, denied socket, works without walls
 *
 * H143: Nor then as the resolver.
 *   call i32(cstring) udp-as-resolver
 *   with --network 127.0.0.1:9
 *   expect returned 97, works without walls
 */
#include "hostile.h"

#include <netinet/in.h>

static int32_t make_socket(int family, int kind, int protocol) { return opened(socket(family, kind, protocol)); }

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
