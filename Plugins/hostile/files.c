/* Files that aren't the plugin's, and marks on files: H81, H98 to H110. */
#include "hostile.h"

#include <sys/socket.h>
#include <dirent.h>
#include <linux/openat2.h>
#include <sys/fanotify.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/xattr.h>

static int32_t open_for(int flags, const char *path) { return opened(open(path, flags | O_CLOEXEC, 0600)); }

/* --- Reading ------------------------------------------------------------------------------------------------------ */

/* H102, H63, H104: opens a path for reading. */
EXPORT int32_t h102_read(const char *path) { return open_for(O_RDONLY, path); }

/* H81: opens a path for writing. */
EXPORT int32_t h81_write(const char *path) { return open_for(O_WRONLY, path); }

/* H81: its own library: what was loaded is what the host hashed. */
EXPORT int32_t h81_write_own_file(void) { return open_for(O_RDWR, own_file()); }

/* H81: puts another file in its place. */
EXPORT int32_t h81_replace_own_file(void) {
  if (open_for(O_CREAT | O_WRONLY, in_container("h81")) != 0) return errno;
  int32_t code = outcome(rename(in_container("h81"), own_file()));
  unlink(in_container("h81"));
  return code;
}

/* H81: removes it. */
EXPORT int32_t h81_unlink_own_file(void) { return outcome(unlink(own_file())); }

static int32_t follow(const char *target, int flags, const char *name) {
  unlink(in_container(name));
  if (symlink(target, in_container(name)) < 0) return errno;
  int32_t code = open_for(flags, in_container(name));
  unlink(in_container(name));
  return code;
}

/* H103: a link of its own to what it may not read. The link is allowed, the way through it isn't. */
EXPORT int32_t h103_symlink(void) { return follow("/etc/shadow", O_RDONLY, "h103"); }

/* H103: makes a file through a dangling link. Canary: `h103-canary` in the machine's /var/tmp. */
EXPORT int32_t h103_dangling(void) {
  int32_t code = follow("/var/tmp/h103-canary", O_CREAT | O_WRONLY, "h103-dangling");
  unlink("/var/tmp/h103-canary");
  return code;
}

/* H103: a second name, in the container, for a file outside of it. */
EXPORT int32_t h103_hard_link(void) {
  int32_t code = outcome(link(own_file(), in_container("h103-hard")));
  unlink(in_container("h103-hard"));
  return code;
}

/* H103: moves a file out of where it may only be read. */
EXPORT int32_t h103_rename(void) {
  int32_t code = outcome(rename(own_file(), in_container("h103-moved")));
  if (code == 0) rename(in_container("h103-moved"), own_file());
  return code;
}

/* H103: up from a descriptor of the container. */
EXPORT int32_t h103_dot_dot(void) {
  int directory = open(in_container("."), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return errno;
  int32_t code = opened(openat(directory, "../../../../../../../../etc/shadow", O_RDONLY | O_CLOEXEC));
  close(directory);
  return code;
}

/* H104: the call that resolves paths by rules of the caller's. */
EXPORT int32_t h104_openat2(void) {
  struct open_how how = {.flags = O_RDONLY | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
  return opened(syscall(SYS_openat2, AT_FDCWD, "/etc/shadow", &how, sizeof how));
}

/* H104: a descriptor that is only a place; then what is there. */
EXPORT int32_t h104_path_descriptor(void) {
  int directory = open("/etc", O_PATH | O_CLOEXEC);
  if (directory < 0) return errno;
  int32_t code = opened(openat(directory, "shadow", O_RDONLY | O_CLOEXEC));
  close(directory);
  return code;
}

/* H104: a file by its handle, which needs no path. */
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

/* H105: changes a file that may only be read, in one of the ways there are. */
EXPORT int32_t h105_change(const char *way) {
  const char *path = own_file();
  if (strcmp(way, "truncate-on-open") == 0) return open_for(O_WRONLY | O_TRUNC, path);
  if (strcmp(way, "truncate-on-read") == 0) return open_for(O_RDONLY | O_TRUNC, path);
  if (strcmp(way, "truncate") == 0) return outcome(truncate(path, 0));
  if (strcmp(way, "append") == 0) return open_for(O_WRONLY | O_APPEND, path);
  if (strcmp(way, "create") == 0) return opened(creat(path, 0600));
  int file = open(path, O_RDONLY | O_CLOEXEC), ends[2];
  if (file < 0 || pipe2(ends, O_CLOEXEC) < 0) return errno;
  if (strcmp(way, "ftruncate") == 0) return outcome(ftruncate(file, 0));
  if (strcmp(way, "punch") == 0) return outcome(fallocate(file, 3, 0, 4096));
  if (strcmp(way, "copy-range") == 0) {
    loff_t from = 0, to = 4096;
    return outcome(copy_file_range(file, &from, file, &to, 16, 0));
  }
  if (strcmp(way, "splice") == 0) return write(ends[1], "x", 1) < 0 ? errno : outcome(splice(ends[0], NULL, file, NULL, 1, 0));
  if (strcmp(way, "write-mapping") == 0) {
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return memory == MAP_FAILED ? errno : 0;
  }
  if (strcmp(way, "upgrade-mapping") == 0) {
    void *memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
    return memory == MAP_FAILED ? errno : outcome(mprotect(memory, 4096, PROT_READ | PROT_WRITE));
  }
  return -1;
}

/* H106: marks on a file that may only be read, or that no file may have. */
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

/* H107: looks whether something is there. */
EXPORT int32_t h107_stat(const char *path) {
  struct stat status;
  return outcome(stat(path, &status));
}

/* H107: lists the root: are the machine's directories there? */
EXPORT int32_t h107_list_root(void) {
  DIR *root = opendir("/");
  if (!root) return errno;
  int32_t code = ENOENT;
  for (struct dirent *entry; (entry = readdir(root));)
    if (strcmp(entry->d_name, "home") == 0 || strcmp(entry->d_name, "proc") == 0 || strcmp(entry->d_name, "var") == 0) code = 0;
  closedir(root);
  return code;
}

/* H109: a device of its own: the machine's memory. Never opened. */
EXPORT int32_t h109_device(void) {
  int32_t code = outcome(mknod(in_container("h109"), S_IFCHR | 0600, makedev(1, 1)));
  unlink(in_container("h109"));
  return code;
}

/* H109: out of a chroot by a second one. */
EXPORT int32_t h109_chroot_escape(void) {
  mkdir(in_container("h109-root"), 0700);
  if (chroot(in_container("h109-root")) < 0) return errno;
  for (int index = 0; index < 32; index++)
    if (chdir("..") < 0) return errno;
  return outcome(chroot("."));
}

/* H109: a mount of its own, over what the host put there. */
EXPORT int32_t h109_bind_mount(void) {
  int32_t code = outcome(mount("/usr", in_container("."), NULL, MS_BIND, NULL));
  if (code == 0) umount2(in_container("."), MNT_DETACH);
  return code;
}

/* H110: watches what others do with files. */
EXPORT int32_t h110_inotify(void) { return opened(inotify_init1(IN_CLOEXEC)); }

/* --- Signs to another plugin -------------------------------------------------------------------------------------- */

static int32_t lock_own_file(int command, long argument) {
  int file = open(own_file(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno;
  int32_t code = outcome(fcntl(file, command, argument));
  close(file);
  return code;
}

/* H98: a lock that others see, on a file that others load. */
EXPORT int32_t h98_flock(void) {
  int file = open(own_file(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno;
  int32_t code = outcome(flock(file, LOCK_EX | LOCK_NB));
  close(file);
  return code;
}

/* H98: a lease, which delays whoever opens the file; and news about a directory. */
EXPORT int32_t h98_lease(void) { return lock_own_file(F_SETLEASE, F_RDLCK); }
EXPORT int32_t h98_notify(void) {
  int directory = open(in_container("."), O_RDONLY | O_CLOEXEC);
  return directory < 0 ? errno : outcome(fcntl(directory, F_NOTIFY, 4));
}

/* H98: has signals of its own choice sent to others. */
EXPORT int32_t h98_owner(void) { return outcome(fcntl(1, F_SETOWN, getpid())); }

/* H98: a handle of the process at the other end (SO_PEERPIDFD, Linux 6.5): where a socket can be made, of one of those. */
EXPORT int32_t h98_peer(void) {
  int ends[2] = {3, 3}, handle = -1;
  socklen_t size = sizeof handle;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) ends[0] = 3;
  return outcome(getsockopt(ends[0], SOL_SOCKET, 77, &handle, &size));
}

/* H98: the times of a device that is the machine's own. */
EXPORT int32_t h98_touch_device(void) { return outcome(utimensat(AT_FDCWD, "/dev/null", NULL, 0)); }

/* H98: a lock on a file of its container, as databases take it. Allowed: the container is the plugin's own. */
EXPORT int32_t h98_own_lock(void) {
  struct flock lock = {.l_type = F_WRLCK};
  int file = open(in_container("h98"), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  return file < 0 ? errno : outcome(fcntl(file, F_SETLK, &lock));
}

/* --- What a janitor stumbles over --------------------------------------------------------------------------------- */

/* H99: a file beyond the limit of its length. Sparse: it takes no room. */
EXPORT int32_t h99_long_file(const char *way) {
  const off_t limit = (off_t)1 << 30;
  int32_t code = -1;
  int file = open(in_container("h99"), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) return errno;
  if (strcmp(way, "write") == 0) code = outcome(pwrite(file, "x", 1, limit));
  if (strcmp(way, "ftruncate") == 0) code = outcome(ftruncate(file, limit + 1));
  if (strcmp(way, "fallocate") == 0) code = outcome(fallocate(file, 1, limit, 1));
  if (strcmp(way, "signal") == 0) {
    /* With the signal's default restored, which would end another process. */
    signal(SIGXFSZ, SIG_DFL);
    code = outcome(pwrite(file, "x", 1, limit));
  }
  unlink(in_container("h99"));
  return code;
}

/* H99: so many directories, each in the one before, and stays in the last. */
EXPORT int32_t h99_deep(int32_t levels) {
  if (chdir(in_container(".")) < 0) return errno;
  for (int32_t level = 0; level < levels; level++)
    if (mkdir("deep", 0700) < 0 || chdir("deep") < 0) return errno;
  return 0;
}

/* H99: so many empty files. */
EXPORT int32_t h99_many(int32_t count) {
  char name[64];
  for (int32_t index = 0; index < count; index++) {
    snprintf(name, sizeof name, "h99-many-%d", index);
    if (open_for(O_CREAT | O_WRONLY, in_container(name)) != 0) return errno;
  }
  return 0;
}

/* H99: a name as long as can be, with bytes that are no text, and a directory that nobody may enter. */
EXPORT int32_t h99_awkward_names(void) {
  static char name[256] = "\x1b[2J\n\xff\xfe-";
  memset(name + strlen(name), 'n', 255 - strlen(name));
  if (open_for(O_CREAT | O_WRONLY, in_container(name)) != 0) return errno;
  if (mkdir(in_container("h99-closed"), 0700) < 0) return errno;
  if (open_for(O_CREAT | O_WRONLY, in_container("h99-closed/inside")) != 0) return errno;
  return outcome(chmod(in_container("h99-closed"), 0));
}

/* H99: what a janitor would call the things that it moves, and a link in a folder that is closed to its owner. */
EXPORT int32_t h99_janitors_names(void) {
  char name[64];
  for (int32_t index = 0; index < 100; index++) {
    snprintf(name, sizeof name, ".removing-%d", index);
    if (mkdir(in_container(name), 0700) < 0) return errno;
    snprintf(name, sizeof name, ".removing-%d/x", index);
    if (mkdir(in_container(name), 0700) < 0) return errno;
    snprintf(name, sizeof name, ".removing-%d/x/f", index);
    if (open_for(O_CREAT | O_WRONLY, in_container(name)) != 0) return errno;
  }
  if (symlink("../../..", in_container(".removing-0/x/link")) < 0) return errno;
  if (chmod(in_container(".removing-0/x"), 0500) < 0 || chmod(in_container(".removing-0"), 0500) < 0) return errno;
  return outcome(chmod(in_container("."), 0));
}

/* H99: a name that is too long, and a path that is. */
EXPORT int32_t h99_long_name(void) {
  static char name[4000];
  memset(name, 'n', sizeof name - 1);
  return open_for(O_CREAT | O_WRONLY, in_container(name));
}

/* H101: asks for a core dump. */
EXPORT int32_t h101_core_limit(void) {
  struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
  return outcome(setrlimit(RLIMIT_CORE, &limit));
}

/* H101: reads what a crash would leave: 0 bytes. */
EXPORT int32_t h101_core_is_off(void) {
  struct rlimit limit;
  return getrlimit(RLIMIT_CORE, &limit) < 0 ? errno : limit.rlim_cur == 0 && limit.rlim_max == 0 ? 0 : EPERM;
}
