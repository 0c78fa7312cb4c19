/* Asks for buffers that the kernel keeps for it, or for another way out.
 *
 * H143: No larger buffer to send from.
 *   call i32(cstring) send-buffer
 *   with --network 127.0.0.1:9
 *   expect returned 1, denied setsockopt, works without walls
 *
 * H143: No larger buffer to receive in.
 *   call i32(cstring) receive-buffer
 *   with --network 127.0.0.1:9
 *   expect returned 1, denied setsockopt, works without walls
 *
 * H143: No larger buffer as an administrator.
 *   call i32(cstring) forced-buffer
 *   with --network 127.0.0.1:9
 *   expect returned 1, denied setsockopt, works without walls
 *
 * H143: No interface of its choice.
 *   call i32(cstring) interface
 *   with --network 127.0.0.1:9
 *   expect returned 1, denied setsockopt, works without walls
 *
 * H143: No other protocol laid over its TCP.
 *   call i32(cstring) upper-protocol
 *   with --network 127.0.0.1:9
 *   expect returned 1, denied setsockopt
 */
#include "shared.h"

#include <netinet/tcp.h>

EXPORT int32_t h143_option(const char *name) {
  int client = tcp(), size = 1 << 24;
  if (client < 0) return errno;
  if (strcmp(name, "send-buffer") == 0) return outcome(setsockopt(client, SOL_SOCKET, SO_SNDBUF, &size, sizeof size));
  if (strcmp(name, "receive-buffer") == 0) return outcome(setsockopt(client, SOL_SOCKET, SO_RCVBUF, &size, sizeof size));
  if (strcmp(name, "forced-buffer") == 0) return outcome(setsockopt(client, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size));
  if (strcmp(name, "interface") == 0) return outcome(setsockopt(client, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3));
  if (strcmp(name, "upper-protocol") == 0) return outcome(setsockopt(client, IPPROTO_TCP, TCP_ULP, "tls", 4));
  return -1;
}
