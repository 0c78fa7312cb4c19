#include "ol_walls.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <fcntl.h>

const int ol_open_path = O_PATH | O_CLOEXEC;

/* Landlock, Linux 5.13 to 6.15 (ABI 1 to 7). */
enum { OL_LANDLOCK_CREATE = 444, OL_LANDLOCK_ADD = 445, OL_LANDLOCK_RESTRICT = 446 };
struct ol_ruleset_attr {
  uint64_t handled_access_fs, handled_access_net, scoped;
};
struct ol_path_beneath_attr {
  uint64_t allowed_access;
  int32_t parent_fd;
} __attribute__((packed));
_Static_assert(sizeof(struct ol_path_beneath_attr) == 12, "landlock_path_beneath_attr is packed");

static int failed(long result) { return result < 0 ? errno : 0; }

int ol_landlock_abi(int *abi) {
  long result = syscall(OL_LANDLOCK_CREATE, NULL, 0, 1);
  *abi = result < 0 ? 0 : (int)result;
  return failed(result);
}

int ol_landlock_create(uint64_t filesystem, uint64_t network, uint64_t scoped, int *ruleset) {
  struct ol_ruleset_attr attributes = {filesystem, network, scoped};
  /* Older kernels refuse a longer structure only when what they don't know isn't zero. */
  *ruleset = (int)syscall(OL_LANDLOCK_CREATE, &attributes, sizeof attributes, 0);
  return failed(*ruleset);
}

int ol_landlock_allow_path(int ruleset, int path, uint64_t access) {
  struct ol_path_beneath_attr rule = {access, path};
  return failed(syscall(OL_LANDLOCK_ADD, ruleset, 1, &rule, 0));
}

int ol_landlock_restrict(int ruleset) { return failed(syscall(OL_LANDLOCK_RESTRICT, ruleset, 0)); }

#define OL_WAIT_KILLABLE (1u << 5) /* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, Linux 5.19 */

int ol_seccomp_install(const void *program, size_t bytes, int *listener) {
  struct sock_fprog filter = {(unsigned short)(bytes / sizeof(struct sock_filter)), (struct sock_filter *)program};
  if (!listener) return failed(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter));
  /* Killable waiting keeps a storm of signals from restarting a notified call for ever. */
  long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | OL_WAIT_KILLABLE, &filter);
  if (result < 0 && errno == EINVAL)
    result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
  if (result < 0) return errno;
  *listener = (int)result;
  return 0;
}

int ol_seccomp_probe(void) {
  uint32_t action = SECCOMP_RET_USER_NOTIF;
  return failed(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action));
}

int ol_seccomp_receive(int listener, struct ol_notification *notification) {
  struct seccomp_notif raw;
  memset(&raw, 0, sizeof raw);
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &raw) < 0) return errno;
  notification->id = raw.id;
  notification->pid = raw.pid;
  notification->number = raw.data.nr;
  notification->architecture = raw.data.arch;
  notification->instruction = raw.data.instruction_pointer;
  memcpy(notification->arguments, raw.data.args, sizeof notification->arguments);
  return 0;
}

int ol_seccomp_answer(int listener, uint64_t id, int error) {
  struct seccomp_notif_resp answer = {
      .id = id, .error = -error, .flags = error ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE};
  return failed(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer));
}

int ol_seccomp_is_valid(int listener, uint64_t id) {
  return failed(ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id));
}

int ol_read_remote_string(pid_t pid, uint64_t address, char *buffer, size_t capacity) {
  size_t done = 0;
  while (done + 1 < capacity) {
    /* Never across a page in one read: the next page may not be mapped. */
    size_t chunk = 4096 - (address + done) % 4096;
    if (chunk > capacity - 1 - done) chunk = capacity - 1 - done;
    struct iovec local = {buffer + done, chunk}, remote = {(void *)(uintptr_t)(address + done), chunk};
    ssize_t count = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    if (count <= 0) return count < 0 ? errno : EFAULT;
    if (memchr(buffer + done, 0, (size_t)count)) return 0;
    done += (size_t)count;
  }
  buffer[done] = 0;
  return 0;
}

int ol_read_remote_bytes(pid_t pid, uint64_t address, void *buffer, size_t count) {
  struct iovec local = {buffer, count}, remote = {(void *)(uintptr_t)address, count};
  ssize_t done = process_vm_readv(pid, &local, 1, &remote, 1, 0);
  if (done < 0) return errno;
  return (size_t)done == count ? 0 : EFAULT;
}
