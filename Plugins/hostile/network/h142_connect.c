/* Connects to an address that its policy doesn't list, beside one that it does.
 *
 * H142: No other port of a listed machine.
 *   call i32(cstring) 127.0.0.1
 *   with --network 127.0.0.1:9 --network listed.example:443
 *   expect returned 111, denied connect, works without walls
 *
 * H142: No other address of the machine itself.
 *   call i32(cstring) 127.1.2.3
 *   with --network 127.0.0.1:9 --network listed.example:443
 *   expect returned 111, denied connect, works without walls
 *
 * H142: Nor as an address that means this machine.
 *   call i32(cstring) 0.0.0.0
 *   with --network 127.0.0.1:9 --network listed.example:443
 *   expect returned 111, denied connect, works without walls
 *
 * H142: Nor in the clothes of version 6.
 *   call i32(cstring) ::ffff:127.0.0.1
 *   with --network 127.0.0.1:9 --network listed.example:443
 *   expect returned 111, denied connect, works without walls
 *
 * H142: No other machine of a private network.
 *   call i32(cstring) 10.0.0.1
 *   with --network 127.0.0.1:9 --network listed.example:443
 *   expect returned 111, denied connect
 *
 * H142: No address that tells a machine its secrets.
 *   call i32(cstring) 169.254.169.254
 *   with --network 127.0.0.1:9 --network listed.example:443
 *   expect returned 111, denied connect
 *
 * H142: No other machine at all.
 *   call i32(cstring) 192.0.2.1
 *   with --network 127.0.0.1:9 --network listed.example:443
 *   expect returned 111, denied connect
 *
 * H142: No other port of a name's address.
 *   call i32(cstring) 127.77.0.2
 *   with --network 127.0.0.1:9 --network listed.example:443
 *   expect returned 111, denied connect
 *
 * H142: No place that another run's name has.
 *   call i32(cstring) 127.77.0.3
 *   with --network 127.0.0.1:9 --network listed.example:443
 *   expect returned 111, denied connect
 */
#include "shared.h"

EXPORT int32_t h142_connect(const char *address) {
  listen_at(address, PORT);
  return opened(connected(address, PORT));
}
