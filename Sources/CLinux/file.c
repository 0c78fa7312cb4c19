#include "ol_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#ifndef SYS_openat2
#define SYS_openat2 437
#endif

/* struct open_how and its flags, from linux/openat2.h (Linux 5.6). */
struct how {
    uint64_t flags, mode, resolve;
};
enum { no_other_mount = 0x01, no_magic_links = 0x02, no_symlinks = 0x04, beneath = 0x08, in_root = 0x10 };

int ol_open_beneath(int directory, const char *path, int flags, unsigned int mode, int *descriptor) {
    struct how how = {
        .flags = (uint64_t)(flags | O_CLOEXEC),
        .mode = flags & (O_CREAT | __O_TMPFILE) ? mode : 0,
        .resolve = no_other_mount | no_magic_links | no_symlinks | beneath,
    };
    long result = syscall(SYS_openat2, directory, path, &how, sizeof how);
    if (result < 0) return errno == EAGAIN ? EINTR : errno; /* A rename raced with the walk: ask again. */
    *descriptor = (int)result;
    return 0;
}

int ol_open_inside(int directory, const char *path, int flags, int *descriptor) {
    struct how how = {.flags = (uint64_t)(flags | O_CLOEXEC), .resolve = no_magic_links | beneath};
    long result = syscall(SYS_openat2, directory, path, &how, sizeof how);
    if (result < 0) return errno == EAGAIN ? EINTR : errno;
    *descriptor = (int)result;
    return 0;
}

int ol_open_in_root(int root, const char *path, int flags, int *descriptor) {
    struct how how = {.flags = (uint64_t)(flags | O_CLOEXEC), .resolve = no_magic_links | in_root};
    long result = syscall(SYS_openat2, root, path, &how, sizeof how);
    if (result < 0) return errno == EAGAIN ? EINTR : errno;
    *descriptor = (int)result;
    return 0;
}

int ol_copy_range(int from, int to, int64_t count, int64_t *copied) {
    ssize_t result = copy_file_range(from, NULL, to, NULL, (size_t)count, 0);
    if (result < 0) return errno;
    *copied = result;
    return 0;
}

int ol_open_without_links(const char *path, int flags, int *descriptor) {
    struct how how = {.flags = (uint64_t)(flags | O_CLOEXEC), .resolve = no_magic_links | no_symlinks};
    long result = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
    if (result < 0) return errno;
    *descriptor = (int)result;
    return 0;
}

int ol_rename_exclusive(int from_directory, const char *from, int to_directory, const char *to) {
    return renameat2(from_directory, from, to_directory, to, RENAME_NOREPLACE) == 0 ? 0 : errno;
}

int ol_start_writeback(int descriptor, int64_t offset, int64_t count) {
    return sync_file_range(descriptor, offset, count, SYNC_FILE_RANGE_WRITE) == 0 ? 0 : errno;
}

/* TMPFS_MAGIC and RAMFS_MAGIC of linux/magic.h */
static int is_memory(const struct statfs *status) {
    return status->f_type == 0x01021994 || status->f_type == 0x858458f6;
}

int ol_is_memory(const char *path) {
    struct statfs status;
    return statfs(path, &status) == 0 && is_memory(&status);
}

int ol_is_cached(int descriptor, int64_t offset) {
    char byte;
    struct iovec part = {&byte, 1};
    return preadv2(descriptor, &part, 1, offset, RWF_NOWAIT) >= 0 || errno != EAGAIN;
}

int ol_is_proc(int descriptor) {
    struct statfs status;
    return fstatfs(descriptor, &status) == 0 && status.f_type == 0x9fa0; /* PROC_SUPER_MAGIC */
}

int ol_preallocate(int descriptor, int64_t offset, int64_t count) {
    struct statfs status;
    if (fstatfs(descriptor, &status) == 0 && is_memory(&status)) return EOPNOTSUPP;
    return fallocate(descriptor, FALLOC_FL_KEEP_SIZE, offset, count) == 0 ? 0 : errno;
}

int ol_punch_hole(int descriptor, int64_t offset, int64_t count) {
    return fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, count) == 0 ? 0 : errno;
}

int ol_first_hole(int descriptor, int64_t offset, int64_t *hole) {
    off_t found = lseek(descriptor, offset, SEEK_HOLE);
    if (found < 0) return errno;
    *hole = found;
    return 0;
}

int ol_sync_filesystem(int descriptor) { return syncfs(descriptor) == 0 ? 0 : errno; }

int ol_set_attribute(const char *path, const char *name) { return setxattr(path, name, "1", 1, 0) == 0 ? 0 : errno; }

int ol_has_attribute(const char *path, const char *name, int *is_there) {
    *is_there = getxattr(path, name, NULL, 0) >= 0;
    return *is_there || errno == ENODATA ? 0 : errno;
}

int ol_set_file_attribute(int descriptor, const char *name, const void *value, size_t count) {
    return fsetxattr(descriptor, name, value, count, 0) == 0 ? 0 : errno;
}

int ol_get_file_attribute(int descriptor, const char *name, void *value, size_t capacity, size_t *count) {
    ssize_t length = fgetxattr(descriptor, name, value, capacity);
    if (length < 0) return errno;
    *count = (size_t)length;
    return 0;
}

int ol_remove_file_attribute(int descriptor, const char *name) {
    return fremovexattr(descriptor, name) == 0 ? 0 : errno;
}
