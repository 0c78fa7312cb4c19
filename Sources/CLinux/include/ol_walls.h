/* Landlock and seccomp. Landlock's structures are declared in walls.c: Debian 12's header knows ABI 2 only. */
#ifndef OL_WALLS_H
#define OL_WALLS_H

/* O_PATH | O_CLOEXEC, which Swift does not see. */
extern const int ol_open_path;
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* landlock_create_ruleset(2) with LANDLOCK_CREATE_RULESET_VERSION: the ABI, from 1. */
int ol_landlock_abi(int *_Nonnull abi);
int ol_landlock_create(uint64_t filesystem, uint64_t network, uint64_t scoped, int *_Nonnull ruleset);
int ol_landlock_allow_path(int ruleset, int path, uint64_t access);
int ol_landlock_restrict(int ruleset);

/* Installs a BPF program (an array of struct sock_filter, as bytes) with a listener where `listener` isn't NULL. */
int ol_seccomp_install(const void *_Nonnull program, size_t bytes, int *_Nullable listener);
/* Whether the kernel has user notification that may answer "continue" (Linux 5.5). */
int ol_seccomp_probe(void);

struct ol_notification {
  uint64_t id;
  uint32_t pid;
  int32_t number;
  uint32_t architecture;
  uint64_t instruction;
  uint64_t arguments[6];
};
int ol_seccomp_receive(int listener, struct ol_notification *_Nonnull notification);
/* `error` is an errno value, or 0 to let the kernel go on with the call. ENOENT when the caller is gone. */
int ol_seccomp_answer(int listener, uint64_t id, int error);
int ol_seccomp_is_valid(int listener, uint64_t id);
/* process_vm_readv(2) of a NUL-terminated string, at most `capacity` - 1 bytes. */
int ol_read_remote_string(pid_t pid, uint64_t address, char *_Nonnull buffer, size_t capacity);
/* process_vm_readv(2) of exactly `count` bytes; EFAULT where fewer can be read. */
int ol_read_remote_bytes(pid_t pid, uint64_t address, void *_Nonnull buffer, size_t count);

#endif
