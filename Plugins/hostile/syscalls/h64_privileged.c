/* One call that a plugin has no need of, by its name.
 *
 * H64: bpf is refused.
 *   call i32(cstring) bpf
 *   expect returned 1, denied bpf, works without walls
 *
 * H64: perf_event_open is refused.
 *   call i32(cstring) perf_event_open
 *   expect returned 1, denied perf_event_open, works without walls
 *
 * H64: add_key is refused.
 *   call i32(cstring) add_key
 *   expect returned 1, denied add_key, works without walls
 *
 * H64: request_key is refused.
 *   call i32(cstring) request_key
 *   expect returned 1, denied request_key
 *
 * H64: keyctl is refused.
 *   call i32(cstring) keyctl
 *   expect returned 1, denied keyctl, works without walls
 *
 * H64: userfaultfd is refused.
 *   call i32(cstring) userfaultfd
 *   expect returned 1|38, denied userfaultfd, works without walls
 *
 * H64: kexec_load is refused.
 *   call i32(cstring) kexec_load
 *   expect returned 1, denied kexec_load
 *
 * H64: kexec_file_load is refused.
 *   call i32(cstring) kexec_file_load
 *   expect returned 1, denied kexec_file_load
 *
 * H64: init_module is refused.
 *   call i32(cstring) init_module
 *   expect returned 1, denied init_module
 *
 * H64: finit_module is refused.
 *   call i32(cstring) finit_module
 *   expect returned 1, denied finit_module
 *
 * H64: delete_module is refused.
 *   call i32(cstring) delete_module
 *   expect returned 1, denied delete_module
 *
 * H64: quotactl is refused.
 *   call i32(cstring) quotactl
 *   expect returned 1, denied quotactl
 *
 * H64: acct is refused.
 *   call i32(cstring) acct
 *   expect returned 1, denied acct
 *
 * H64: swapon is refused.
 *   call i32(cstring) swapon
 *   expect returned 1, denied swapon
 *
 * H64: swapoff is refused.
 *   call i32(cstring) swapoff
 *   expect returned 1, denied swapoff
 *
 * H64: reboot is refused.
 *   call i32(cstring) reboot
 *   expect returned 1, denied reboot
 *
 * H64: settimeofday is refused.
 *   call i32(cstring) settimeofday
 *   expect returned 1, denied settimeofday
 *
 * H64: clock_settime is refused.
 *   call i32(cstring) clock_settime
 *   expect returned 1, denied clock_settime
 *
 * H64: adjtimex is refused.
 *   call i32(cstring) adjtimex
 *   expect returned 1, denied adjtimex, works without walls
 *
 * H64: clock_adjtime is refused.
 *   call i32(cstring) clock_adjtime
 *   expect returned 1, denied clock_adjtime, works without walls
 *
 * H110: fanotify_init is refused.
 *   call i32(cstring) fanotify_init
 *   expect returned 1, denied fanotify_init, works without walls
 *
 * H110: inotify_init1 is refused.
 *   call i32(cstring) inotify_init1
 *   expect returned 1, denied inotify_init1, works without walls
 *
 * H64: lookup_dcookie is refused.
 *   call i32(cstring) lookup_dcookie
 *   expect returned 1, denied lookup_dcookie
 *
 * H64: nfsservctl is refused.
 *   call i32(cstring) nfsservctl
 *   expect returned 1|38, denied nfsservctl
 *
 * H64: modify_ldt is refused.
 *   call i32(cstring) modify_ldt
 *   expect returned 1|38, denied modify_ldt, works without walls
 *
 * H64: iopl is refused.
 *   call i32(cstring) iopl
 *   expect returned 1, denied iopl, works without walls
 *
 * H64: ioperm is refused.
 *   call i32(cstring) ioperm
 *   expect returned 1, denied ioperm, works without walls
 *
 * H64: personality is refused. Without walls it succeeds by returning the old personality.
 *   call i32(cstring) personality
 *   expect returned 1, denied personality
 *
 * H64: personality-exec is refused. Without walls it succeeds by returning the old personality.
 *   call i32(cstring) personality-exec
 *   expect returned 1, denied personality
 *
 * H61: ptrace is refused.
 *   call i32(cstring) ptrace
 *   expect returned 1, denied ptrace, works without walls
 *
 * H109: mount is refused.
 *   call i32(cstring) mount
 *   expect returned 1, denied mount, works without walls
 *
 * H109: umount2 is refused.
 *   call i32(cstring) umount2
 *   expect returned 1, denied umount2
 *
 * H109: pivot_root is refused.
 *   call i32(cstring) pivot_root
 *   expect returned 1, denied pivot_root
 *
 * H109: chroot is refused.
 *   call i32(cstring) chroot
 *   expect returned 1, denied chroot, works without walls
 *
 * H57: open_tree is refused.
 *   call i32(cstring) open_tree
 *   expect returned 1, denied open_tree, works without walls
 *
 * H57: move_mount is refused.
 *   call i32(cstring) move_mount
 *   expect returned 1, denied move_mount
 *
 * H57: fsopen is refused.
 *   call i32(cstring) fsopen
 *   expect returned 1, denied fsopen, works without walls
 *
 * H57: fspick is refused.
 *   call i32(cstring) fspick
 *   expect returned 1, denied fspick, works without walls
 *
 * H57: fsmount is refused.
 *   call i32(cstring) fsmount
 *   expect returned 1, denied fsmount
 *
 * H57: mount_setattr is refused.
 *   call i32(cstring) mount_setattr
 *   expect returned 1, denied mount_setattr, works without walls
 *
 * H57: A number that no kernel has is answered and reported by number.
 *   call i32(cstring) unknown
 *   expect returned 38, denied syscall 600
 *
 * H64: sethostname is refused.
 *   call i32(cstring) sethostname
 *   expect returned 1, denied sethostname, works without walls
 *
 * H64: setdomainname is refused.
 *   call i32(cstring) setdomainname
 *   expect returned 1, denied setdomainname, works without walls
 *
 * H64: syslog is refused.
 *   call i32(cstring) syslog
 *   expect returned 1, denied syslog, works without walls
 *
 * H64: vhangup is refused.
 *   call i32(cstring) vhangup
 *   expect returned 1, denied vhangup
 *
 * H64: setuid is refused.
 *   call i32(cstring) setuid
 *   expect returned 1, denied setuid, works without walls
 *
 * H64: setgid is refused.
 *   call i32(cstring) setgid
 *   expect returned 1, denied setgid, works without walls
 *
 * H64: setgroups is refused.
 *   call i32(cstring) setgroups
 *   expect returned 1, denied setgroups, works without walls
 *
 * H64: setresuid is refused.
 *   call i32(cstring) setresuid
 *   expect returned 1, denied setresuid, works without walls
 *
 * H64: capset is refused.
 *   call i32(cstring) capset
 *   expect returned 1, denied capset
 *
 * H64: setsid is refused.
 *   call i32(cstring) setsid
 *   expect returned 1, denied setsid
 *
 * H98: shmget is refused.
 *   call i32(cstring) shmget
 *   expect returned 1, denied shmget, works without walls
 *
 * H98: semget is refused.
 *   call i32(cstring) semget
 *   expect returned 1, denied semget, works without walls
 *
 * H98: msgget is refused.
 *   call i32(cstring) msgget
 *   expect returned 1, denied msgget, works without walls
 *
 * H98: mq_open is refused.
 *   call i32(cstring) mq_open
 *   expect returned 1, denied mq_open, works without walls
 *
 * H104: open_by_handle_at is refused.
 *   call i32(cstring) open_by_handle_at
 *   expect returned 1, denied open_by_handle_at
 *
 * H104: name_to_handle_at is refused.
 *   call i32(cstring) name_to_handle_at
 *   expect returned 1, denied name_to_handle_at
 *
 * H64: process_madvise is refused.
 *   call i32(cstring) process_madvise
 *   expect returned 1, denied process_madvise
 *
 * H61: pidfd_open is refused.
 *   call i32(cstring) pidfd_open
 *   expect returned 1, denied pidfd_open, works without walls
 *
 * H61: pidfd_getfd is refused.
 *   call i32(cstring) pidfd_getfd
 *   expect returned 1, denied pidfd_getfd
 *
 * H61: pidfd_send_signal is refused.
 *   call i32(cstring) pidfd_send_signal
 *   expect returned 1, denied pidfd_send_signal
 *
 * H61: kcmp is refused.
 *   call i32(cstring) kcmp
 *   expect returned 1, denied kcmp
 *
 * H64: move_pages is refused.
 *   call i32(cstring) move_pages
 *   expect returned 1, denied move_pages
 *
 * H64: migrate_pages is refused.
 *   call i32(cstring) migrate_pages
 *   expect returned 1, denied migrate_pages
 *
 * H64: mbind is refused.
 *   call i32(cstring) mbind
 *   expect returned 1, denied mbind
 *
 * H64: set_mempolicy is refused.
 *   call i32(cstring) set_mempolicy
 *   expect returned 1, denied set_mempolicy, works without walls
 *
 * H64: get_mempolicy is refused.
 *   call i32(cstring) get_mempolicy
 *   expect returned 1|38, denied get_mempolicy, works without walls
 *
 * H64: io_setup is refused.
 *   call i32(cstring) io_setup
 *   expect returned 1, denied io_setup, works without walls
 *
 * H64: io_uring_enter is refused.
 *   call i32(cstring) io_uring_enter
 *   expect returned 1|38, denied io_uring_enter
 *
 * H64: io_uring_register is refused.
 *   call i32(cstring) io_uring_register
 *   expect returned 1|38, denied io_uring_register
 *
 * H64: pkey_alloc is refused.
 *   call i32(cstring) pkey_alloc
 *   expect returned 1, denied pkey_alloc
 *
 * H64: remap_file_pages is refused.
 *   call i32(cstring) remap_file_pages
 *   expect returned 1, denied remap_file_pages
 *
 * H64: mlock2 is refused.
 *   call i32(cstring) mlock2
 *   expect returned 1, denied mlock2, works without walls
 *
 * H64: uselib is refused.
 *   call i32(cstring) uselib
 *   expect returned 13|38, denied uselib
 *
 * H64: sysfs is refused.
 *   call i32(cstring) sysfs
 *   expect returned 1, denied sysfs, works without walls
 *
 * H64: ustat is refused.
 *   call i32(cstring) ustat
 *   expect returned 1, denied ustat
 *
 * H64: arch_prctl is refused.
 *   call i32(cstring) arch_prctl
 *   expect returned 1|38, denied arch_prctl, works without walls
 *
 * H64: map_shadow_stack is refused.
 *   call i32(cstring) map_shadow_stack
 *   expect returned 1|38, denied *
 *
 * H64: landlock_create_ruleset is refused.
 *   call i32(cstring) landlock_create_ruleset
 *   expect returned 1|38, denied landlock_create_ruleset, works without walls
 *
 * H61: ptrace-attach is refused.
 *   call i32(cstring) ptrace-attach
 *   expect returned 1, denied ptrace
 *
 * H109: mknod is refused.
 *   call i32(cstring) mknod
 *   expect returned 1, denied mknod, works without walls
 */
#include "privileged.h"

#include <sys/time.h>

EXPORT int32_t h64_privileged(const char *name) {
  gettimeofday(&now_time, NULL);
  clock_gettime(CLOCK_REALTIME, &now_clock);
  for (size_t index = 0; index < sizeof calls / sizeof *calls; index++) {
    const long *a = calls[index].arguments;
    if (strcmp(calls[index].name, name) == 0)
      return outcome(syscall(calls[index].number, a[0], a[1], a[2], a[3], a[4], a[5]));
  }
  return -1;
}
