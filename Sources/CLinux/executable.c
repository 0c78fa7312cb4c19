#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Foundation finds the main bundle by the executable's path, which it asks for once, when it is loaded. Apple's
   CoreFoundation takes it from CFProcessPath where that is set; this does the same for the one on Linux. The loader finds a
   program's symbols before those of the C library. */
ssize_t readlink(const char *restrict path, char *restrict buffer, size_t capacity) {
  const char *executable = strcmp(path, "/proc/self/exe") == 0 ? getenv("CFProcessPath") : NULL;
  if (!executable) return syscall(SYS_readlinkat, AT_FDCWD, path, buffer, capacity);
  size_t length = strlen(executable);
  if (length > capacity) length = capacity;
  memcpy(buffer, executable, length);
  return (ssize_t)length;
}
