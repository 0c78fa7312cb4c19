#include <seccomp.h>

#include "constants.h"

// libseccomp's actions and comparisons are macros that Swift can't import.
static const uint32_t ol_scmp_allow = SCMP_ACT_ALLOW;
static const uint32_t ol_scmp_notify = SCMP_ACT_NOTIFY;
static const uint32_t ol_scmp_kill_process = SCMP_ACT_KILL_PROCESS;
static inline uint32_t ol_scmp_errno(uint16_t code) { return SCMP_ACT_ERRNO(code); }
