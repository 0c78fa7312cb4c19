/* libarchive brings libxml2, ICU and seven libraries for compression, which takes a fifth of the time that a command needs to
   start; few commands unpack anything. So it isn't linked, but loaded by the code that unpacks: its functions are defined here, and
   call those of the library. They are hidden: a library that is loaded never finds them in place of its own. */
#pragma GCC visibility push(hidden)
#include "CArchive.h"
#pragma GCC visibility pop

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

#define FUNCTIONS(F)                                                                                                        \
  F(int, archive_errno, (struct archive * a), (a))                                                                          \
  F(const char *, archive_error_string, (struct archive * a), (a))                                                          \
  F(la_int64_t, archive_filter_bytes, (struct archive * a, int n), (a, n))                                                  \
  F(struct archive *, archive_read_new, (void), ())                                                                         \
  F(int, archive_read_free, (struct archive * a), (a))                                                                      \
  F(int, archive_read_open_fd, (struct archive * a, int file, size_t size), (a, file, size))                                \
  F(int, archive_read_next_header, (struct archive * a, struct archive_entry **e), (a, e))                                  \
  F(int, archive_read_data_block, (struct archive * a, const void **data, size_t *count, la_int64_t *offset),               \
    (a, data, count, offset))                                                                                               \
  F(int, archive_read_support_format_tar, (struct archive * a), (a))                                                        \
  F(int, archive_read_support_format_zip, (struct archive * a), (a))                                                        \
  F(int, archive_read_support_filter_bzip2, (struct archive * a), (a))                                                      \
  F(int, archive_read_support_filter_compress, (struct archive * a), (a))                                                   \
  F(int, archive_read_support_filter_gzip, (struct archive * a), (a))                                                       \
  F(int, archive_read_support_filter_lz4, (struct archive * a), (a))                                                        \
  F(int, archive_read_support_filter_lzip, (struct archive * a), (a))                                                       \
  F(int, archive_read_support_filter_lzma, (struct archive * a), (a))                                                       \
  F(int, archive_read_support_filter_xz, (struct archive * a), (a))                                                         \
  F(int, archive_read_support_filter_zstd, (struct archive * a), (a))                                                       \
  F(struct archive *, archive_write_disk_new, (void), ())                                                                   \
  F(int, archive_write_disk_set_options, (struct archive * a, int flags), (a, flags))                                       \
  F(int, archive_write_free, (struct archive * a), (a))                                                                     \
  F(int, archive_write_header, (struct archive * a, struct archive_entry *e), (a, e))                                       \
  F(la_ssize_t, archive_write_data_block, (struct archive * a, const void *data, size_t count, la_int64_t offset),          \
    (a, data, count, offset))                                                                                               \
  F(int, archive_write_finish_entry, (struct archive * a), (a))                                                             \
  F(mode_t, archive_entry_filetype, (struct archive_entry * e), (e))                                                        \
  F(const char *, archive_entry_hardlink, (struct archive_entry * e), (e))                                                  \
  F(const char *, archive_entry_hardlink_utf8, (struct archive_entry * e), (e))                                             \
  F(int, archive_entry_is_encrypted, (struct archive_entry * e), (e))                                                       \
  F(mode_t, archive_entry_mode, (struct archive_entry * e), (e))                                                            \
  F(const char *, archive_entry_pathname, (struct archive_entry * e), (e))                                                  \
  F(const char *, archive_entry_pathname_utf8, (struct archive_entry * e), (e))                                             \
  F(la_int64_t, archive_entry_size, (struct archive_entry * e), (e))                                                        \
  F(int, archive_entry_size_is_set, (struct archive_entry * e), (e))                                                        \
  F(const char *, archive_entry_symlink, (struct archive_entry * e), (e))                                                   \
  F(const char *, archive_entry_symlink_utf8, (struct archive_entry * e), (e))

#define COMMANDS(F)                                                                                                         \
  F(archive_entry_set_hardlink, (struct archive_entry * e, const char *target), (e, target))                                \
  F(archive_entry_set_pathname, (struct archive_entry * e, const char *path), (e, path))                                    \
  F(archive_entry_set_perm, (struct archive_entry * e, mode_t mode), (e, mode))

#define POINTER(result, name, parameters, arguments) static __typeof__(&name) loaded_##name;
#define POINTER_OF_COMMAND(name, parameters, arguments) static __typeof__(&name) loaded_##name;
FUNCTIONS(POINTER)
COMMANDS(POINTER_OF_COMMAND)

#define CALL(result, name, parameters, arguments) \
  result name parameters { return loaded_##name arguments; }
#define CALL_COMMAND(name, parameters, arguments) \
  void name parameters { loaded_##name arguments; }
FUNCTIONS(CALL)
COMMANDS(CALL_COMMAND)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_loaded;

/* What is missing is said by name; what was found before it stays unused. */
static const char *load(void) {
  /* Its ABI has had this number since version 3.0 of 2011. */
  void *library = dlopen("libarchive.so.13", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return dlerror();
#define FIND(result, name, parameters, arguments) \
  if ((loaded_##name = (__typeof__(&name))dlsym(library, #name)) == NULL) return dlerror();
#define FIND_COMMAND(name, parameters, arguments) FIND(void, name, parameters, arguments)
  FUNCTIONS(FIND)
  COMMANDS(FIND_COMMAND)
  is_loaded = 1;
  return NULL;
}

const char *outrider_archive_load(void) {
  pthread_mutex_lock(&lock);
  const char *failure = is_loaded ? NULL : load();
  pthread_mutex_unlock(&lock);
  return failure;
}
