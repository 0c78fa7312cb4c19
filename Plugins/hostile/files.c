/* Files: what lies outside must not be reached, what lies inside must not spoil the clean-up. */
#include "hostile.h"
#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/xattr.h>

static int32_t opening(const char *path, int flags) {
  const int file = open(path, flags | O_CLOEXEC, 0600);
  return file < 0 ? errno : TRY(close(file));
}
/* The path of this library. */
static const char *own_path(void) {
  Dl_info info;
  return dladdr((void *)own_path, &info) ? info.dli_fname : "/bundle/libhostile.so";
}
static int32_t new_file(const char *name) { return opening(in_container(name), O_RDWR | O_CREAT); }

/* H63: the memory of the first process */
EXPORT int32_t h63_proc_mem(void) { return opening("/proc/1/mem", O_RDWR); }
/* H63: the environment of the first process */
EXPORT int32_t h63_proc_environ(void) { return opening("/proc/1/environ", O_RDONLY); }
/* H63: its own memory as a file, to write over code */
EXPORT int32_t h63_self_mem(void) { return opening("/proc/self/mem", O_RDWR); }
/* H63: its own memory map, to find the host's code */
EXPORT int32_t h63_self_maps(void) { return opening("/proc/self/maps", O_RDONLY); }
/* H81: the runner's own program, opened for appending */
EXPORT int32_t h81_self_exe(void) { return opening("/proc/self/exe", O_WRONLY | O_APPEND); }
/* H82: looks for the variable HOSTILE_CANARY, which a test gives to the host; 0 when it isn't there */
EXPORT int32_t h82_environment(void) { return getenv("HOSTILE_CANARY") ? EEXIST : 0; }
/* H82: looks for variables that usually hold secrets */
EXPORT int32_t h82_secrets(void) {
  for (char **each = environ; each && *each; each++)
    if (strstr(*each, "TOKEN=") || strstr(*each, "SECRET") || strstr(*each, "PASSWORD") || strstr(*each, "AUTH_SOCK")) return EEXIST;
  return 0;
}
/* H98: a lock that another plugin can see */
EXPORT int32_t h98_flock(void) {
  const int file = open(in_container("h98"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return errno;
  const int32_t code = TRY(flock(file, LOCK_EX | LOCK_NB));
  close(file);
  unlink(in_container("h98"));
  return code;
}
static int32_t control(int command, long argument) {
  const int file = open(in_container("h98"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return errno;
  const int32_t code = TRY(fcntl(file, command, argument));
  close(file);
  unlink(in_container("h98"));
  return code;
}
/* H98: a lease */
EXPORT int32_t h98_lease(void) { return control(F_SETLEASE, F_WRLCK); }
/* H98: directory notices of old */
EXPORT int32_t h98_notify(void) { return control(F_NOTIFY, 0); }
/* H98: lets itself be signalled about a file */
EXPORT int32_t h98_owner(void) { return control(F_SETOWN, getpid()); }
/* H99: two thousand directories in one another */
EXPORT int32_t h99_deep(void) {
  int32_t code = 0;
  int at = open(in_container("."), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (at < 0) return errno;
  for (int depth = 0; !code && depth < 2000; depth++) {
    if (mkdirat(at, "d", 0700) < 0 && errno != EEXIST) code = errno;
    const int next = code ? -1 : openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!code && next < 0) code = errno;
    close(at);
    at = next;
  }
  if (at >= 0) close(at);
  return code;
}
/* H99: names of 255 bytes, with every byte that a name may have */
EXPORT int32_t h99_names(void) {
  char name[256];
  for (int n = 0; n < 255; n++) name[n] = (char)((n % 255 + 1) == '/' ? '_' : n % 255 + 1);
  name[255] = 0;
  return new_file(name);
}
/* H99: a directory that its owner may not read, to stop the clean-up */
EXPORT int32_t h99_unreadable(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s", in_container("h99-unreadable"));
  if (mkdir(path, 0700) < 0 && errno != EEXIST) return errno;
  snprintf(path, sizeof path, "%s", in_container("h99-unreadable/file"));
  opening(path, O_RDWR | O_CREAT);
  return TRY(chmod(in_container("h99-unreadable"), 0));
}
/* H99: a thousand files */
EXPORT int32_t h99_many(void) {
  char name[32];
  int32_t code = 0;
  for (int n = 0; !code && n < 1000; n++) { snprintf(name, sizeof name, "many-%d", n); code = new_file(name); }
  return code;
}
/* H99: a file of two gibibytes with nothing in it */
EXPORT int32_t h99_large(void) {
  const int file = open(in_container("h99-large"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return errno;
  signal(SIGXFSZ, SIG_IGN);
  const int32_t code = TRY(ftruncate(file, 2048L << 20));
  close(file);
  unlink(in_container("h99-large"));
  return code;
}
/* H99: descriptors until there are no more, at most 2000 */
EXPORT int32_t h99_descriptors(void) {
  static int files[2000];
  int count = 0, code = 0;
  while (count < 2000 && (files[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) count++;
  if (count < 2000) code = errno;
  while (count > 0) close(files[--count]);
  return code;
}
/* H101: asks whether it leaves a core; 0 when it doesn't */
EXPORT int32_t h101_dumpable(void) { return (int32_t)syscall(SYS_prctl, 3L /* PR_GET_DUMPABLE */, 0L, 0L, 0L, 0L); }
/* H102: the machine's passwords */
EXPORT int32_t h102_shadow(void) { return opening("/etc/shadow", O_RDONLY); }
/* H102: somebody's keys */
EXPORT int32_t h102_keys(void) { return opening("/root/.ssh/authorized_keys", O_RDONLY); }
/* H102: the machine's disks */
EXPORT int32_t h102_memory_device(void) { return opening("/dev/mem", O_RDONLY); }
/* H103: a symbolic link to the outside */
EXPORT int32_t h103_symlink(void) {
  unlink(in_container("h103"));
  if (symlink("/etc/shadow", in_container("h103")) < 0) return errno;
  const int32_t code = opening(in_container("h103"), O_RDONLY);
  unlink(in_container("h103"));
  return code;
}
/* H103: creates a file through a link that leads nowhere */
EXPORT int32_t h103_dangling(void) {
  unlink(in_container("h103d"));
  if (symlink("/var/tmp/h103-outside", in_container("h103d")) < 0) return errno;
  const int32_t code = opening(in_container("h103d"), O_RDWR | O_CREAT);
  unlink(in_container("h103d"));
  return code;
}
/* H103: a hard link to its own library */
EXPORT int32_t h103_hardlink(void) {
  const int32_t code = TRY(link(own_path(), in_container("h103h")));
  unlink(in_container("h103h"));
  return code;
}
/* H103: renames a file out of the container */
EXPORT int32_t h103_rename(void) {
  const int32_t made = new_file("h103r");
  const int32_t code = made ? made : TRY(rename(in_container("h103r"), "/usr/lib/h103r/h103r"));
  unlink(in_container("h103r"));
  return code;
}
/* H104: up and up, and down again */
EXPORT int32_t h104_dots(void) { return opening(in_container("../../../../../../../../etc/shadow"), O_RDONLY); }
/* H104: the root of its own process */
EXPORT int32_t h104_proc_root(void) { return opening("/proc/self/root/etc/shadow", O_RDONLY); }
/* H104: a path without the right to read it */
EXPORT int32_t h104_path_only(void) { return opening("/etc/shadow", O_PATH); }
/* H105: opens its own library for writing */
EXPORT int32_t h105_write_bundle(void) { return opening(own_path(), O_WRONLY | O_APPEND); }
/* H105: truncates its own library to the length that it has */
EXPORT int32_t h105_truncate_bundle(void) {
  struct stat info;
  if (stat(own_path(), &info) < 0) return errno;
  return TRY(truncate(own_path(), info.st_size));
}
/* H105: punches a hole through a descriptor that can only read */
EXPORT int32_t h105_punch(void) {
  const int file = open(own_path(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno;
  const int32_t code = TRY(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1));
  close(file);
  return code;
}
/* H105: a new file among the system's libraries */
EXPORT int32_t h105_create_library(void) {
  const int32_t code = opening("/usr/lib/h105-outside", O_WRONLY | O_CREAT | O_EXCL);
  if (!code) unlink("/usr/lib/h105-outside");
  return code;
}
/* H105: a new file at the root */
EXPORT int32_t h105_create_root(void) {
  const int32_t code = opening("/h105-outside", O_WRONLY | O_CREAT | O_EXCL);
  if (!code) unlink("/h105-outside");
  return code;
}
/* H106: a set-user-id bit on a file of its own */
EXPORT int32_t h106_setuid_bit(void) {
  const int32_t made = new_file("h106"), code = made ? made : TRY(syscall(SYS_chmod, in_container("h106"), 06755));
  unlink(in_container("h106"));
  return code;
}
/* H106: plain permissions of a file of its own */
EXPORT int32_t h106_chmod(void) {
  const int32_t made = new_file("h106c"), code = made ? made : TRY(syscall(SYS_chmod, in_container("h106c"), 0600));
  unlink(in_container("h106c"));
  return code;
}
/* H106: permissions of its own library, as they are */
EXPORT int32_t h106_chmod_bundle(void) {
  struct stat info;
  if (stat(own_path(), &info) < 0) return errno;
  return TRY(syscall(SYS_chmod, own_path(), info.st_mode & 0777));
}
/* H106: gives a file away */
EXPORT int32_t h106_chown(void) {
  const int32_t made = new_file("h106o"), code = made ? made : TRY(syscall(SYS_chown, in_container("h106o"), -1L, -1L));
  unlink(in_container("h106o"));
  return code;
}
/* H106: an extended attribute */
EXPORT int32_t h106_setxattr(void) {
  const int32_t made = new_file("h106x"), code = made ? made : TRY(setxattr(in_container("h106x"), "user.h106", "x", 1, 0));
  unlink(in_container("h106x"));
  return code;
}
/* H107: probes which files the machine has; 0 when it sees one */
EXPORT int32_t h107_probe(void) {
  static const char *const paths[] = {"/etc/passwd", "/etc/hostname", "/root", "/home", "/var", "/run", "/sys", "/proc/version"};
  struct stat info;
  int32_t code = ENOENT;
  for (size_t n = 0; n < sizeof paths / sizeof *paths; n++) if (stat(paths[n], &info) == 0) code = 0;
  return code;
}
/* H109: a device */
EXPORT int32_t h109_mknod(void) {
  const int32_t code = TRY(syscall(SYS_mknod, in_container("h109"), S_IFIFO | 0600, 0));
  unlink(in_container("h109"));
  return code;
}
/* H109: a device by directory */
EXPORT int32_t h109_mknodat(void) {
  const int32_t code = TRY(syscall(SYS_mknodat, AT_FDCWD, in_container("h109a"), S_IFIFO | 0600, 0));
  unlink(in_container("h109a"));
  return code;
}
/* H110: watches a directory */
EXPORT int32_t h110_inotify(void) { const int file = inotify_init1(IN_CLOEXEC); return file < 0 ? errno : TRY(close(file)); }
/* H38: its own directory takes a small file, as it must */
EXPORT int32_t h38_container(void) {
  const int32_t code = new_file("h38");
  unlink(in_container("h38"));
  return code;
}
