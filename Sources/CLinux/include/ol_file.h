#ifndef OL_FILE_H
#define OL_FILE_H

#include <stddef.h>
#include <stdint.h>

/* openat2(2) beneath a directory: no symbolic links, no magic links, no other mount. Debian 12's headers lack it. */
int ol_open_beneath(int directory, const char *path, int flags, unsigned int mode, int *descriptor);

/* openat2(2) beneath a directory, through symbolic links that stay there; EXDEV for one that leads out. */
int ol_open_inside(int directory, const char *path, int flags, int *descriptor);

/* copy_file_range(2) at both positions: shares the blocks where the filesystem can (Linux 5.3: Btrfs, XFS, NFS). */
int ol_copy_range(int from, int to, int64_t count, int64_t *copied);

/* openat2(2) as a process with that root sees a path: links that start at / start there. */
int ol_open_in_root(int root, const char *path, int flags, int *descriptor);

/* openat2(2) of a whole path that no symbolic link is to be part of: ELOOP. */
int ol_open_without_links(const char *path, int flags, int *descriptor);

/* renameat2(2) with RENAME_NOREPLACE. */
int ol_rename_exclusive(int from_directory, const char *from, int to_directory, const char *to);

/* sync_file_range(2) with SYNC_FILE_RANGE_WRITE: starts write-back and doesn't wait. */
int ol_start_writeback(int descriptor, int64_t offset, int64_t count);

/* Whether a path lies in tmpfs or ramfs. */
int ol_is_memory(const char *path);
/* Whether a byte of a file is in the page cache: preadv2(2) with RWF_NOWAIT doesn't wait for it. 1 where that can't be told. */
int ol_is_cached(int descriptor, int64_t offset);
/* Whether a descriptor is of /proc. */
int ol_is_proc(int descriptor);
/* fallocate(2) with FALLOC_FL_KEEP_SIZE; EOPNOTSUPP in memory too, where it takes as long as writing does. */
int ol_preallocate(int descriptor, int64_t offset, int64_t count);

/* fallocate(2) with FALLOC_FL_PUNCH_HOLE. */
int ol_punch_hole(int descriptor, int64_t offset, int64_t count);

/* lseek(2) with SEEK_HOLE. */
int ol_first_hole(int descriptor, int64_t offset, int64_t *hole);

/* setxattr(2) and getxattr(2) of an attribute that is there or not: its value says nothing. getxattr's ENODATA is 0, and then
 * `is_there` is 0. */
int ol_set_attribute(const char *path, const char *name);
int ol_has_attribute(const char *path, const char *name, int *is_there);

/* fsetxattr(2), fgetxattr(2) and fremovexattr(2). */
int ol_set_file_attribute(int descriptor, const char *name, const void *value, size_t count);
int ol_get_file_attribute(int descriptor, const char *name, void *value, size_t capacity, size_t *count);
int ol_remove_file_attribute(int descriptor, const char *name);

/* syncfs(2): reports write-back errors since Linux 5.8. */
int ol_sync_filesystem(int descriptor);

#endif
