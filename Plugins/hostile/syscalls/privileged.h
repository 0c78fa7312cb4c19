/* What h64_privileged calls. */
#ifndef HOSTILE_PRIVILEGED_H
#define HOSTILE_PRIVILEGED_H

#include "shared.h"

#include <linux/bpf.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <time.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>

static char junk[4096];

/* Linux 5.19 and later; older headers don't have them. */
#ifndef SYS_map_shadow_stack
#define SYS_map_shadow_stack 453
#endif

static union bpf_attr bpf_map = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
static struct perf_event_attr perf = {.type = PERF_TYPE_SOFTWARE, .size = sizeof perf, .config = PERF_COUNT_SW_CPU_CLOCK};
static struct timeval now_time;
static struct timespec now_clock;
static struct { uint32_t version; int pid; } capability_header = {0x20080522, 0};
static struct mount_attr unchanged;
static unsigned group_list[1] = {0};
static struct { long maximum[8]; } mq_attributes = {{0, 1, 16}};
static unsigned ids[1];
static struct { uint64_t flags[2]; } landlock_rules = {{1, 0}};

struct privileged {
  const char *name;
  long number, arguments[6];
};

/* Each with arguments that would be accepted, or that do no harm where the call would be let through. */
static const struct privileged calls[] = {
    {"bpf", SYS_bpf, {BPF_MAP_CREATE, P(&bpf_map), sizeof bpf_map}},
    {"perf_event_open", SYS_perf_event_open, {P(&perf), 0, -1, -1, 0}},
    {"add_key", SYS_add_key, {P("user"), P("h64"), P("x"), 1, -2}},
    {"request_key", SYS_request_key, {P("user"), P("h64"), 0, -2}},
    {"keyctl", SYS_keyctl, {0, -2, 1}},
    {"userfaultfd", SYS_userfaultfd, {O_CLOEXEC}},
    {"kexec_load", SYS_kexec_load, {0, 0, 0, 0}},
    {"kexec_file_load", SYS_kexec_file_load, {-1, -1, 0, 0, 4}},
    {"init_module", SYS_init_module, {P(junk), sizeof junk, P("")}},
    {"finit_module", SYS_finit_module, {-1, P(""), 0}},
    {"delete_module", SYS_delete_module, {P("no-such-module"), 0}},
    {"quotactl", SYS_quotactl, {0, 0, 0, 0}},
    {"acct", SYS_acct, {0}},
    {"swapon", SYS_swapon, {P("/no-such-file"), 0}},
    {"swapoff", SYS_swapoff, {P("/no-such-file")}},
    {"reboot", SYS_reboot, {0xfee1dead, 672274793, RB_DISABLE_CAD}},
    {"settimeofday", SYS_settimeofday, {P(&now_time), 0}},
    {"clock_settime", SYS_clock_settime, {CLOCK_REALTIME, P(&now_clock)}},
    {"adjtimex", SYS_adjtimex, {P(junk)}},
    {"clock_adjtime", SYS_clock_adjtime, {CLOCK_REALTIME, P(junk)}},
    {"fanotify_init", SYS_fanotify_init, {0, 0}},
    {"inotify_init1", SYS_inotify_init1, {0}},
    {"lookup_dcookie", SYS_lookup_dcookie, {0, P(junk), sizeof junk}},
    {"nfsservctl", SYS_nfsservctl, {0, 0, 0}},
    {"modify_ldt", SYS_modify_ldt, {0, P(junk), sizeof junk}},
    {"iopl", SYS_iopl, {3}},
    {"ioperm", SYS_ioperm, {0x80, 1, 1}},
    {"personality", SYS_personality, {ADDR_NO_RANDOMIZE}},
    {"personality-exec", SYS_personality, {READ_IMPLIES_EXEC}},
    {"ptrace", SYS_ptrace, {PTRACE_TRACEME, 0, 0, 0}},
    {"mount", SYS_mount, {P("tmpfs"), P("/tmp"), P("tmpfs"), 0, 0}},
    {"umount2", SYS_umount2, {P("/tmp"), 2}},
    {"pivot_root", SYS_pivot_root, {P("/tmp"), P("/tmp")}},
    {"chroot", SYS_chroot, {P("/")}},
    {"open_tree", SYS_open_tree, {AT_FDCWD, P("/tmp"), 1}},
    {"move_mount", SYS_move_mount, {-1, P(""), AT_FDCWD, P("/tmp"), 4}},
    {"fsopen", SYS_fsopen, {P("tmpfs"), 0}},
    {"fspick", SYS_fspick, {AT_FDCWD, P("/"), 0}},
    {"fsmount", SYS_fsmount, {-1, 0, 0}},
    {"mount_setattr", SYS_mount_setattr, {AT_FDCWD, P("/tmp"), 0, P(&unchanged), sizeof unchanged}},
    {"unknown", 600, {0}},
    {"sethostname", SYS_sethostname, {P("h64"), 3}},
    {"setdomainname", SYS_setdomainname, {P("h64"), 3}},
    {"syslog", SYS_syslog, {3, P(junk), sizeof junk}},
    {"vhangup", SYS_vhangup, {0}},
    {"setuid", SYS_setuid, {0}},
    {"setgid", SYS_setgid, {0}},
    {"setgroups", SYS_setgroups, {1, P(group_list)}},
    {"setresuid", SYS_setresuid, {0, 0, 0}},
    {"capset", SYS_capset, {P(&capability_header), P(junk)}},
    {"setsid", SYS_setsid, {0}},
    {"shmget", SYS_shmget, {0, 4096, 0600 | 01000}},
    {"semget", SYS_semget, {0, 1, 0600 | 01000}},
    {"msgget", SYS_msgget, {0, 0600 | 01000}},
    {"mq_open", SYS_mq_open, {P("h98"), O_CREAT | O_RDWR, 0600, P(&mq_attributes)}},
    {"open_by_handle_at", SYS_open_by_handle_at, {AT_FDCWD, P(junk), 0}},
    {"name_to_handle_at", SYS_name_to_handle_at, {AT_FDCWD, P("/"), P(junk), P(ids), 0}},
    {"process_madvise", SYS_process_madvise, {-1, 0, 0, 21, 0}},
    {"pidfd_open", SYS_pidfd_open, {1, 0}},
    {"pidfd_getfd", SYS_pidfd_getfd, {-1, 0, 0}},
    {"pidfd_send_signal", SYS_pidfd_send_signal, {-1, 0, 0, 0}},
    {"kcmp", SYS_kcmp, {1, 1, 1, 0, 0}},
    {"move_pages", SYS_move_pages, {0, 0, 0, 0, 0, 0}},
    {"migrate_pages", SYS_migrate_pages, {0, 64, P(junk), P(junk)}},
    {"mbind", SYS_mbind, {P(junk), 0, 0, 0, 0, 0}},
    {"set_mempolicy", SYS_set_mempolicy, {0, 0, 0}},
    {"get_mempolicy", SYS_get_mempolicy, {0, 0, 0, 0, 0}},
    {"io_setup", SYS_io_setup, {1, P(junk)}},
    {"io_uring_enter", SYS_io_uring_enter, {-1, 0, 0, 0, 0, 0}},
    {"io_uring_register", SYS_io_uring_register, {-1, 0, 0, 0}},
    {"pkey_alloc", SYS_pkey_alloc, {0, 0}},
    {"remap_file_pages", SYS_remap_file_pages, {0, 0, 0, 0, 0}},
    {"mlock2", SYS_mlock2, {P(junk), 1, 0}},
    {"uselib", SYS_uselib, {P("/lib/ld-linux.so.2")}},
    {"sysfs", SYS_sysfs, {3}},
    {"ustat", SYS_ustat, {0, P(junk)}},
    {"arch_prctl", SYS_arch_prctl, {0x1004, P(junk)}},
    {"map_shadow_stack", SYS_map_shadow_stack, {0, 4096, 0}},
    {"landlock_create_ruleset", SYS_landlock_create_ruleset, {P(&landlock_rules), sizeof landlock_rules, 0}},
    {"ptrace-attach", SYS_ptrace, {PTRACE_SEIZE, 1, 0, 0}},
    {"mknod", SYS_mknod, {P("h109"), S_IFCHR | 0600, 0x103}},
};

#endif
