/* Marks on a file that may only be read, or that no file may have.
 *
 * H106: No mark: chmod; canary: the file's mode, owner and times are the same.
 *   call i32(cstring) chmod
 *   expect returned 30|1|13, denied *, works without walls
 *
 * H106: With --observe the mode that it may not change is in the report.
 *   call i32(cstring) chmod
 *   with --observe
 *   expect returned 30|1|13, denied chmod
 *
 * H106: No mark: chown; canary: the file's mode, owner and times are the same.
 *   call i32(cstring) chown
 *   expect returned 30|1|13, denied *, works without walls
 *
 * H106: No mark: utime; canary: the file's mode, owner and times are the same.
 *   call i32(cstring) utime
 *   expect returned 30|1|13, denied *, works without walls
 *
 * H106: No mark: xattr; canary: the file's mode, owner and times are the same.
 *   call i32(cstring) xattr
 *   expect returned 1|30, denied *, works without walls
 *
 * H106: No mark: remove-acl; canary: the file's mode, owner and times are the same.
 *   call i32(cstring) remove-acl
 *   expect returned 1|30, denied *
 *
 * H106: No mark: setuid; canary: the file's mode, owner and times are the same.
 *   call i32(cstring) setuid
 *   expect returned 1, denied chmod, works without walls
 *
 * H106: No mark: setgid; canary: the file's mode, owner and times are the same.
 *   call i32(cstring) setgid
 *   expect returned 1, denied fchmod, works without walls
 *
 * H106: No mark: a file isn't made with it.
 *   call i32(cstring) made-setuid
 *   expect returned 1, denied openat, works without walls
 *
 * H106: No mark: nor one without a name.
 *   call i32(cstring) unnamed-setuid
 *   expect returned 1, denied openat, works without walls
 *
 * H106: Trap: where no file is made the mode means nothing.
 *   call i32(cstring) garbage-mode
 *   expect returned 0, works without walls
 *
 * H106: Trap: the mode of a file of its own may change.
 *   call i32(cstring) own-mode
 *   expect returned 0, works without walls
 *
 * H106: No mark: own-xattr; canary: the file's mode, owner and times are the same.
 *   call i32(cstring) own-xattr
 *   expect returned 1, denied fsetxattr, works without walls
 *
 * H106: No mark: own-chown; canary: the file's mode, owner and times are the same.
 *   call i32(cstring) own-chown
 *   expect returned 1, denied fchown, works without walls
 *
 * H106: No mark: immutable; canary: the file's mode, owner and times are the same.
 *   call i32(cstring) immutable
 *   expect returned 1, denied ioctl
 */
#include "hostile.h"

#include <sys/mount.h>
#include <sys/xattr.h>

EXPORT int32_t h106_mark(const char *mark) {
  const char *path = own_file();
  struct timespec times[2] = {{0, 0}, {0, 0}};
  if (strcmp(mark, "chmod") == 0) return outcome(chmod(path, 0777));
  if (strcmp(mark, "chown") == 0) return outcome(chown(path, getuid(), getgid()));
  if (strcmp(mark, "utime") == 0) return outcome(utimensat(AT_FDCWD, path, times, 0));
  if (strcmp(mark, "xattr") == 0) return outcome(setxattr(path, "user.h106", "x", 1, 0));
  if (strcmp(mark, "remove-acl") == 0) return removexattr(path, "user.h106") < 0 && errno != ENODATA ? errno : 0;
  int file = open(in_container("h106"), O_CREAT | O_RDWR | O_CLOEXEC, 0700);
  if (file < 0) return errno;
  if (strcmp(mark, "setuid") == 0) return outcome(chmod(in_container("h106"), 04755));
  if (strcmp(mark, "setgid") == 0) return outcome(fchmod(file, 02755));
  if (strcmp(mark, "made-setuid") == 0)
    return opened(open(in_container("h106-made"), O_CREAT | O_EXCL | O_WRONLY, 06755));
  if (strcmp(mark, "unnamed-setuid") == 0) return opened(open(in_container("."), O_TMPFILE | O_RDWR, 04755));
  if (strcmp(mark, "garbage-mode") == 0) return opened(syscall(SYS_openat, AT_FDCWD, own_file(), O_RDONLY, 06000));
  if (strcmp(mark, "own-mode") == 0) return outcome(fchmod(file, 0640));
  if (strcmp(mark, "own-xattr") == 0) return outcome(fsetxattr(file, "user.h106", "x", 1, 0));
  if (strcmp(mark, "own-chown") == 0) return outcome(fchown(file, getuid(), getgid()));
  if (strcmp(mark, "immutable") == 0) {
    int flags = 0x10;
    return outcome(ioctl(file, 0x40086602 /* FS_IOC_SETFLAGS */, &flags));
  }
  return -1;
}
