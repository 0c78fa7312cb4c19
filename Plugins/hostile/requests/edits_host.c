/* Writes into the table that the host gave it. It may: the table is its own process's.
 *
 * H73: The table is the child's own.
 *   run
 *   with --wall 5s
 *   expect returned 1/0
 */
#include "requests.h"

BEHAVIOUR {
  ba_host *table = (ba_host *)(uintptr_t)host;
  UNUSED;
  ba_status status = answer_sound(host, "sound");
  memset(table, 0x41, sizeof *table);
  return status;
}
