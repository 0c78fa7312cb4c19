#include "ol_namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

const int ol_new_user = CLONE_NEWUSER, ol_new_mount = CLONE_NEWNS, ol_new_pid = CLONE_NEWPID,
          ol_new_network = CLONE_NEWNET, ol_new_ipc = CLONE_NEWIPC, ol_new_uts = CLONE_NEWUTS;

/* Linux 5.12; the names differ so that a newer header can't clash. */
struct ol_mount_attr {
  uint64_t attr_set, attr_clr, propagation, userns_fd;
};
enum { OL_ATTR_NOSUID = 2, OL_ATTR_IDMAP = 0x100000 };

static int failed(long result) { return result < 0 ? errno : 0; }

int ol_unshare(int flags) { return failed(unshare(flags)); }
int ol_setns(int descriptor, int kind) { return failed(setns(descriptor, kind)); }

int ol_clone_mount(int directory, const char *path, int recursive, int *mount) {
  unsigned flags = 1 /* OPEN_TREE_CLONE */ | O_CLOEXEC | AT_EMPTY_PATH | (recursive ? 0x8000 /* AT_RECURSIVE */ : 0);
  *mount = (int)syscall(428 /* open_tree, Linux 5.2 */, directory, path, flags);
  return failed(*mount);
}

static int set_attributes(int mount, struct ol_mount_attr attributes, int recursive) {
  return failed(syscall(442 /* mount_setattr, Linux 5.12 */, mount, "", AT_EMPTY_PATH | (recursive ? 0x8000 : 0),
                        &attributes, sizeof attributes));
}

int ol_restrict_mount(int mount, uint32_t attributes, int recursive) {
  struct ol_mount_attr wanted = {.attr_set = attributes | OL_ATTR_NOSUID};
  return set_attributes(mount, wanted, recursive);
}

int ol_idmap_mount(int mount, int user_namespace) {
  struct ol_mount_attr wanted = {.attr_set = OL_ATTR_IDMAP, .userns_fd = (uint64_t)user_namespace};
  return set_attributes(mount, wanted, 0);
}

int ol_attach_mount(int mount, const char *target) {
  return failed(syscall(429 /* move_mount, Linux 5.2 */, mount, "", AT_FDCWD, target, 4 /* MOVE_MOUNT_F_EMPTY_PATH */));
}

int ol_mount_tmpfs(const char *target, const char *options, int no_exec) {
  return failed(mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV | (no_exec ? MS_NOEXEC : 0), options));
}

/* Linux 5.2. */
enum { OL_FSOPEN = 430, OL_FSCONFIG = 431, OL_FSMOUNT = 432, OL_FSCONFIG_STRING = 1, OL_FSCONFIG_CREATE = 6 };

static int open_tmpfs(int *mount) {
  int context = (int)syscall(OL_FSOPEN, "tmpfs", 1 /* FSOPEN_CLOEXEC */);
  if (context < 0) return errno;
  int code = failed(syscall(OL_FSCONFIG, context, OL_FSCONFIG_STRING, "size", "64k", 0));
  if (code == 0) code = failed(syscall(OL_FSCONFIG, context, OL_FSCONFIG_STRING, "mode", "755", 0));
  if (code == 0) code = failed(syscall(OL_FSCONFIG, context, OL_FSCONFIG_CREATE, NULL, NULL, 0));
  if (code == 0) {
    *mount = (int)syscall(OL_FSMOUNT, context, 1 /* FSMOUNT_CLOEXEC */, OL_ATTR_NOSUID | OL_MOUNT_NO_EXEC);
    code = failed(*mount);
  }
  close(context);
  return code;
}

int ol_mount_devices(const struct ol_device *devices, int count, int *mount) {
  int code = open_tmpfs(mount);
  if (code != 0) return code;
  for (int index = 0; index < count && code == 0; index++) {
    const char *name = devices[index].name;
    code = failed(mknodat(*mount, name, S_IFCHR | 0666, makedev(1, devices[index].minor)));
    /* Whatever the umask is. */
    if (code == 0) code = failed(fchmodat(*mount, name, 0666, 0));
    if (code == 0) {
      int file = openat(*mount, name, O_RDWR | O_CLOEXEC | O_NOCTTY);
      code = failed(file);
      if (file >= 0) close(file);
    }
  }
  if (code == 0) code = ol_restrict_mount(*mount, OL_MOUNT_READ_ONLY, 0);
  if (code != 0) close(*mount);
  return code;
}

int ol_detach_mount(const char *target) { return failed(umount2(target, MNT_DETACH)); }

int ol_make_slave(void) { return failed(mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL)); }

int ol_mount_read_only(const char *target) {
  return failed(mount(NULL, target, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL));
}

int ol_pivot(const char *root) {
  if (chdir(root) < 0) return errno;
  /* Stacks the old root over the new one, whence it is taken away (pivot_root(2), NOTES). */
  if (syscall(SYS_pivot_root, ".", ".") < 0) return errno;
  if (umount2(".", MNT_DETACH) < 0) return errno;
  return failed(chdir("/"));
}

int ol_own_mount_namespace(int *descriptor) {
  int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
  if (self < 0) return errno;
  *descriptor = ioctl(self, 0xff03, 0);
  int error = *descriptor < 0 ? errno : 0;
  close(self);
  return error;
}

int ol_set_no_new_privileges(void) { return failed(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)); }
int ol_set_parent_death_signal(int signal) { return failed(prctl(PR_SET_PDEATHSIG, signal)); }
int ol_set_dumpable(int dumpable) { return failed(prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0)); }
int ol_disable_huge_pages(void) { return failed(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)); }
int ol_set_process_name(const char *name) { return failed(prctl(PR_SET_NAME, name, 0, 0, 0)); }

int ol_become(uid_t uid, gid_t gid) {
  /* Without the right to set groups (an ordinary user's namespace) there are none to lose that the user doesn't have. */
  if (setgroups(0, NULL) < 0 && errno != EPERM) return errno;
  if (setresgid(gid, gid, gid) < 0) return errno;
  return failed(setresuid(uid, uid, uid));
}

int ol_name_machine(const char *name) {
  static const char none[] = "(none)";
  return sethostname(name, strlen(name)) == 0 && setdomainname(none, sizeof none - 1) == 0 ? 0 : errno;
}

int ol_drop_bounding_set(void) {
  for (int capability = 0; capability < 64; capability++)
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0) return errno == EINVAL && capability > CAP_SETPCAP ? 0 : errno;
  return 0;
}

int ol_drop_capabilities(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2] = {{0, 0, 0}, {0, 0, 0}};
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL) return errno;
  return failed(syscall(SYS_capset, &header, data));
}

int ol_close_from(int first) { return failed(close_range((unsigned)first, ~0u, 0)); }
