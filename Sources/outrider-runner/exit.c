#include "exit.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ol_crash.h"

typedef void exit_function(int);

static _Noreturn void leave(int status) {
    for (;;) syscall(SYS_exit_group, status);
}

/* With what the C library does before, such as the functions of atexit(3). */
static _Noreturn void leave_by(const char *name, int status) {
    exit_function *function = (exit_function *)dlsym(RTLD_NEXT, name);
    if (function) function(status);
    leave(status);
}

void exit(int status) {
    ol_tell_exit(__builtin_return_address(0));
    leave_by("exit", status);
}

void quick_exit(int status) {
    ol_tell_exit(__builtin_return_address(0));
    leave_by("quick_exit", status);
}

void _exit(int status) {
    ol_tell_exit(__builtin_return_address(0));
    leave(status);
}

void _Exit(int status) {
    ol_tell_exit(__builtin_return_address(0));
    leave(status);
}
