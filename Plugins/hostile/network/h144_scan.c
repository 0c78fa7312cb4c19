/* Looks for whatever answers, at thousands of addresses.
 *
 * H144: Three thousand places: none answers, and the report is bounded.
 *   call i32(i32) 3000
 *   with --network 127.0.0.1:9
 *   expect returned 111, denied connect
 */
#include "shared.h"

EXPORT int32_t h144_scan(int32_t count) {
  char address[INET_ADDRSTRLEN];
  int32_t code = ECONNREFUSED;
  for (int32_t index = 0; index < count && code == ECONNREFUSED; index++) {
    snprintf(address, sizeof address, "10.%u.%u.1", (unsigned)index / 256 % 256, (unsigned)index % 256);
    code = opened(connected(address, (uint16_t)(index + 1)));
  }
  return code;
}
