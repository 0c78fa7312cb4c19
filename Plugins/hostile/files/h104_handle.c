/* A file by its handle, which needs no path.
 *
 * H104: No way by a handle; a filesystem may have none.
 *   call i32()
 *   expect returned 1, denied name_to_handle_at
 */
#include "hostile.h"

EXPORT int32_t h104_handle(void) {
  struct {
    struct file_handle head;
    char bytes[MAX_HANDLE_SZ];
  } handle;
  int mount = 0, directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  memset(&handle, 0, sizeof handle);
  handle.head.handle_bytes = MAX_HANDLE_SZ;
  if (name_to_handle_at(AT_FDCWD, own_file(), &handle.head, &mount, 0) < 0) return errno;
  return opened(open_by_handle_at(directory, &handle.head, O_RDONLY | O_CLOEXEC));
}
