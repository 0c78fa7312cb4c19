// Runs a program and kills it by SIGKILL where it is about to make its nth system call that leaves a trace in the file
// system, whichever thread and library makes it. What the call before it did is done, so that every n together are every
// state that a kill can leave.
//
// Usage: kill-at-call N PROGRAM [ARGUMENT …]      N = 0: never
//
// Standard output gets one line more, the last one: "killed at CALL" or "calls COUNT". The exit status is the program's, or
// 137; 125 where this system lets no process trace (ptrace(2), seccomp(2)).
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { cannot_trace = 125 };

/// Which calls count: all of that number, those whose flags (in that argument) can create or empty a file, or those on
/// descriptors beyond standard error.
enum condition { always, creates, beyond_standard_error };

static const struct {
    const char *name;
    unsigned number;
    enum condition condition;
    unsigned argument;
} calls[] = {
#ifdef SYS_open
    {"open", SYS_open, creates, 1},
    {"rename", SYS_rename, always, 0},
    {"renameat", SYS_renameat, always, 0},
    {"unlink", SYS_unlink, always, 0},
    {"mkdir", SYS_mkdir, always, 0},
    {"rmdir", SYS_rmdir, always, 0},
    {"link", SYS_link, always, 0},
    {"symlink", SYS_symlink, always, 0},
    {"chmod", SYS_chmod, always, 0},
#endif
    {"openat", SYS_openat, creates, 2},
    {"openat2", SYS_openat2, always, 0},
    {"renameat2", SYS_renameat2, always, 0},
    {"unlinkat", SYS_unlinkat, always, 0},
    {"mkdirat", SYS_mkdirat, always, 0},
    {"linkat", SYS_linkat, always, 0},
    {"symlinkat", SYS_symlinkat, always, 0},
    {"copy_file_range", SYS_copy_file_range, always, 0},
    {"write", SYS_write, beyond_standard_error, 0},
    {"writev", SYS_writev, beyond_standard_error, 0},
    {"pwrite64", SYS_pwrite64, always, 0},
    {"pwritev", SYS_pwritev, always, 0},
    {"ftruncate", SYS_ftruncate, always, 0},
    {"fallocate", SYS_fallocate, always, 0},
    {"fchmod", SYS_fchmod, always, 0},
    {"fsync", SYS_fsync, always, 0},
    {"fdatasync", SYS_fdatasync, always, 0},
    {"syncfs", SYS_syncfs, always, 0},
};
enum { call_count = sizeof calls / sizeof *calls };

static void die(const char *what) {
    fprintf(stderr, "kill-at-call: %s: %s\n", what, strerror(errno));
    exit(cannot_trace);
}

static int install_filter(void) {
    struct sock_filter program[2 + 5 * call_count];
    unsigned short length = 0;
#define ADD(...) program[length++] = (struct sock_filter)__VA_ARGS__
#define LOAD(offset) ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset))
    LOAD(offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < call_count; i++) {
        unsigned trace = SECCOMP_RET_TRACE | i, argument = offsetof(struct seccomp_data, args[calls[i].argument]);
        if (calls[i].condition == always) {
            ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0, 1));
            ADD(BPF_STMT(BPF_RET | BPF_K, trace));
            continue;
        }
        ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0, 4));
        LOAD(argument);
        if (calls[i].condition == creates)
            ADD(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_CREAT | O_TRUNC, 0, 1));
        else
            ADD(BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, STDERR_FILENO, 0, 1));
        ADD(BPF_STMT(BPF_RET | BPF_K, trace));
        ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    }
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    struct sock_fprog filter = {length, program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ?: prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static void run(int begin, char *const *arguments) {
    char byte;
    // Until it is traced: before that, calls that are to be told would fail.
    if (read(begin, &byte, 1) != 1) _exit(cannot_trace);
    close(begin);
    if (install_filter() != 0) _exit(cannot_trace);
    execv(arguments[0], arguments);
    _exit(127);
}

int main(int count, char **arguments) {
    if (count < 3) {
        fprintf(stderr, "usage: kill-at-call N PROGRAM [ARGUMENT ...]\n");
        return 64;
    }
    long number = strtol(arguments[1], NULL, 10), seen = 0;
    int begin[2];
    if (pipe2(begin, O_CLOEXEC) != 0) die("pipe");
    pid_t child = fork();
    if (child < 0) die("fork");
    if (child == 0) {
        close(begin[1]);
        run(begin[0], arguments + 2);
    }
    const long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK
        | PTRACE_O_EXITKILL;
    if (ptrace(PTRACE_SEIZE, child, 0, options) != 0) die("PTRACE_SEIZE");
    if (write(begin[1], "", 1) != 1) die("write");

    const char *last = NULL;
    for (;;) {
        int status;
        pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0) die("waitpid");
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (thread != child) continue;
            if (last != NULL)
                printf("killed at %s\n", last);
            else
                printf("calls %ld\n", seen);
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
        if (!WIFSTOPPED(status)) continue;
        int event = status >> 16, signal = event == 0 ? WSTOPSIG(status) : 0;
        if (event == PTRACE_EVENT_SECCOMP && ++seen == number) {
            unsigned long message = 0;
            if (ptrace(PTRACE_GETEVENTMSG, thread, 0, &message) == 0 && message < call_count) last = calls[message].name;
            // The thread waits before its call, and ends there.
            kill(child, SIGKILL);
            continue;
        }
        // One that died meanwhile can't go on.
        ptrace(PTRACE_CONT, thread, 0, signal);
    }
}
