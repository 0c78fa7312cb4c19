/* Opens a path for reading.
 *
 * H102: /etc/shadow isn't read; reported with its path.
 *   call i32(cstring) /etc/shadow
 *   with --observe
 *   expect returned 2|13|6, denied openat, works without walls
 *
 * H102: /etc/passwd isn't read; reported with its path.
 *   call i32(cstring) /etc/passwd
 *   with --observe
 *   expect returned 2|13|6, denied openat, works without walls
 *
 * H102: /etc/machine-id isn't read; reported with its path.
 *   call i32(cstring) /etc/machine-id
 *   with --observe
 *   expect returned 2|13|6, denied openat
 *
 * H102: /root/.ssh/id_ed25519 isn't read; reported with its path.
 *   call i32(cstring) /root/.ssh/id_ed25519
 *   with --observe
 *   expect returned 2|13|6, denied openat
 *
 * H63: /proc/self/environ isn't read; reported with its path.
 *   call i32(cstring) /proc/self/environ
 *   with --observe
 *   expect returned 2|13|6, denied openat, works without walls
 *
 * H104: /proc/self/cwd/etc/shadow isn't read; reported with its path.
 *   call i32(cstring) /proc/self/cwd/etc/shadow
 *   with --observe
 *   expect returned 2|13|6, denied openat
 *
 * H104: /proc/self/root/etc/shadow isn't read; reported with its path.
 *   call i32(cstring) /proc/self/root/etc/shadow
 *   with --observe
 *   expect returned 2|13|6, denied openat, works without walls
 *
 * H104: /usr/../etc/shadow is read as what it leads to.
 *   call i32(cstring) /usr/../etc/shadow
 *   with --observe
 *   expect returned 2|13|6, denied openat, works without walls
 *
 * H104: /usr/lib/./../../etc/shadow is read as what it leads to.
 *   call i32(cstring) /usr/lib/./../../etc/shadow
 *   with --observe
 *   expect returned 2|13|6, denied openat, works without walls
 *
 * H102: /sys/kernel/notes isn't read; reported with its path.
 *   call i32(cstring) /sys/kernel/notes
 *   with --observe
 *   expect returned 2|13|6, denied openat
 *
 * H102: /dev/mem isn't read; reported with its path.
 *   call i32(cstring) /dev/mem
 *   with --observe
 *   expect returned 2|13|6, denied openat
 *
 * H102: /dev/kmsg isn't read; reported with its path.
 *   call i32(cstring) /dev/kmsg
 *   with --observe
 *   expect returned 2|13|6, denied openat
 */
#include "hostile.h"

EXPORT int32_t h102_read(const char *path) { return open_for(O_RDONLY, path); }
