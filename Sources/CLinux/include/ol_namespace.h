/* Namespaces, mounts and privileges. Structures newer than Debian 12's headers are declared in the .c files.
   0 or an errno value. */
#ifndef OL_NAMESPACE_H
#define OL_NAMESPACE_H
#include <stdint.h>
#include <sys/types.h>

int ol_unshare(int flags);
int ol_setns(int descriptor, int kind);
/* The CLONE_NEW… values that Swift doesn't see. */
extern const int ol_new_user, ol_new_mount, ol_new_pid, ol_new_network, ol_new_ipc, ol_new_uts;

/* open_tree(2) with OPEN_TREE_CLONE: a detached copy of the mount at `path`, with what is mounted below it. */
int ol_clone_mount(int directory, const char *_Nonnull path, int recursive, int *_Nonnull mount);
/* mount_setattr(2) on a mount (`recursive`: and what is below it); set-user-id never works there. */
#define OL_MOUNT_READ_ONLY 1u
#define OL_MOUNT_NO_DEVICES 4u
#define OL_MOUNT_NO_EXEC 8u
int ol_restrict_mount(int mount, uint32_t attributes, int recursive);
/* Maps the mount's ids by a user namespace (Linux 5.12, and the filesystem's support). */
int ol_idmap_mount(int mount, int user_namespace);
/* move_mount(2) of a detached mount onto `target`. */
int ol_attach_mount(int mount, const char *_Nonnull target);
int ol_mount_tmpfs(const char *_Nonnull target, const char *_Nonnull options, int no_exec);
/* A memory filesystem of its own with the named character devices, not mounted anywhere: fsopen(2), fsmount(2), mknod(2).
   Needs CAP_MKNOD in the first user namespace; EACCES where the nodes can be made, but not opened. */
struct ol_device {
  const char *_Nonnull name;
  unsigned minor;
};
int ol_mount_devices(const struct ol_device *_Nonnull devices, int count, int *_Nonnull mount);
/* umount2(2) with MNT_DETACH. */
int ol_detach_mount(const char *_Nonnull target);
int ol_make_slave(void);
int ol_mount_read_only(const char *_Nonnull target);
/* pivot_root(2) into `root`, then the old root is gone. */
int ol_pivot(const char *_Nonnull root);

/* A descriptor of the caller's own mount namespace, without /proc (PIDFD_GET_MNT_NAMESPACE, Linux 6.11). */
int ol_own_mount_namespace(int *_Nonnull descriptor);

int ol_set_no_new_privileges(void);
int ol_set_parent_death_signal(int signal);
int ol_set_dumpable(int dumpable);
int ol_disable_huge_pages(void);
int ol_set_process_name(const char *_Nonnull name);
int ol_become(uid_t uid, gid_t gid);
/* Of the UTS namespace that one is in: its host name, and no domain name (uts_namespaces(7)). */
int ol_name_machine(const char *_Nonnull name);
int ol_drop_bounding_set(void);
/* Empties the permitted, effective, inheritable and ambient sets. */
int ol_drop_capabilities(void);
int ol_close_from(int first);

#endif
