/* A page of a file that stays in a pipe, or in a socket, after the file is gone: 2 MiB for one byte where its cache is
 * made of such. Copying from file to file leaves nothing behind.
 *
 * H34: No page of a file stays in a pipe: splice.
 *   call i32(cstring) splice
 *   expect returned 38, works without walls
 *
 * H34: No page of a file stays in a pipe: tee.
 *   call i32(cstring) tee
 *   expect returned 38, works without walls
 *
 * H34: No page of a file stays in a pipe: sendfile.
 *   call i32(cstring) sendfile
 *   expect returned 38, works without walls
 *
 * H34: Copying from file to file leaves nothing behind, and works.
 *   call i32(cstring) copy_file_range
 *   expect returned 0, works without walls
 */
#include "hostile.h"

EXPORT int32_t h34_pin(const char *way) {
  char path[4096], byte = 0;
  strcpy(path, in_container("h34-pin"));
  int file = open(path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600), first[2], second[2];
  if (file < 0 || write(file, "pinned", 6) != 6 || pipe2(first, O_CLOEXEC) < 0 || pipe2(second, O_CLOEXEC) < 0) return errno;
  loff_t from = 0, to = 4096;
  if (strcmp(way, "copy_file_range") == 0) return outcome(copy_file_range(file, &from, file, &to, 1, 0));
  if (strcmp(way, "splice") == 0) return outcome(splice(file, &from, first[1], NULL, 1, 0));
  if (strcmp(way, "sendfile") == 0) return outcome(syscall(SYS_sendfile, first[1], file, &from, 1));
  if (write(first[1], &byte, 1) != 1) return errno;
  return outcome(tee(first[0], second[1], 1, 0));
}
