/* Reads, writes, renames and lists files where it may, sorts, prints.
 *
 * H120: Trap: Files in the container.
 *   call i32()
 *   expect returned 0, works without walls
 */
#include "hostile.h"

#include <limits.h>

static int by_value(const void *first, const void *second) { return *(const int *)first - *(const int *)second; }

EXPORT int32_t h120_files(void) {
  char from[PATH_MAX], line[64] = "";
  int values[] = {3, 1, 2};
  strcpy(from, in_container("h120.tmp"));
  FILE *file = fopen(from, "w+");
  if (!file) return errno;
  qsort(values, 3, sizeof *values, by_value);
  fprintf(file, "%d %d %d %.3f\n", values[0], values[1], values[2], 0.5);
  fflush(file);
  if (fsync(fileno(file)) < 0 || rename(from, in_container("h120.txt")) < 0) return errno;
  rewind(file);
  if (!fgets(line, sizeof line, file) || strcmp(line, "1 2 3 0.500\n") != 0) return EIO;
  fclose(file);
  return outcome(unlink(in_container("h120.txt")));
}
