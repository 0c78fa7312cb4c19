#include "thread.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    /* As much as the first thread's has: the handler walks the stack. */
    alternate_size = 64 << 10,
    least_stack = 8 * alternate_size,
    /* Of the kernel's sigset_t, in bytes. */
    mask_size = 8,
    /* The C library's own signals, which its functions never block (nptl(7)). */
    first_internal = 32,
    last_internal = 33,
};

static void remove_faults(sigset_t *set) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
    for (size_t index = 0; index < sizeof faults / sizeof *faults; index++) sigdelset(set, faults[index]);
}

int sigprocmask(int how, const sigset_t *set, sigset_t *old) {
    sigset_t kept;
    if (set && how != SIG_UNBLOCK) {
        kept = *set;
        remove_faults(&kept);
        for (int number = first_internal; number <= last_internal; number++)
            ((unsigned long *)&kept)[0] &= ~(1UL << (number - 1));
        set = &kept;
    }
    return (int)syscall(SYS_rt_sigprocmask, how, set, old, mask_size);
}

int pthread_sigmask(int how, const sigset_t *set, sigset_t *old) {
    int saved = errno;
    int result = sigprocmask(how, set, old) < 0 ? errno : 0;
    errno = saved;
    return result;
}

struct start {
    void *(*routine)(void *);
    void *argument;
};

/* A thread inherits what its creator blocked around pthread_create, by whatever call. */
static struct start begin(void *raw) {
    struct start start = *(struct start *)raw;
    free(raw);
    sigset_t mask;
    if (sigprocmask(SIG_SETMASK, NULL, &mask) == 0) sigprocmask(SIG_SETMASK, &mask, NULL);
    return start;
}

static void *run(void *raw) {
    struct start start = begin(raw);
    return start.routine(start.argument);
}

/* The end of a stack that grows downwards is as far away from `area` as can be. */
static void *run_with_alternate_stack(void *raw) {
    char area[alternate_size] __attribute__((aligned(16)));
    stack_t stack = {.ss_sp = area, .ss_size = sizeof area};
    struct start start = begin(raw);
    sigaltstack(&stack, NULL);
    void *result = start.routine(start.argument);
    /* Not a tail call: what is on the stack is in use until here. */
    __asm__ volatile("" : : "r"(area) : "memory");
    return result;
}

static size_t stack_size(const pthread_attr_t *attributes) {
    size_t size = 0;
    if (attributes) return pthread_attr_getstacksize(attributes, &size) == 0 ? size : 0;
    pthread_attr_t usual;
    if (pthread_getattr_default_np(&usual) != 0) return 0;
    pthread_attr_getstacksize(&usual, &size);
    pthread_attr_destroy(&usual);
    return size;
}

typedef int create_function(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static create_function *the_librarys(void) {
    static _Atomic(create_function *) known;
    create_function *found = atomic_load_explicit(&known, memory_order_relaxed);
    if (found) return found;
    found = (create_function *)dlsym(RTLD_NEXT, "pthread_create");
    atomic_store_explicit(&known, found, memory_order_relaxed);
    return found;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *), void *argument) {
    create_function *create = the_librarys();
    struct start *start = malloc(sizeof *start);
    if (!create || !start) {
        free(start);
        return EAGAIN;
    }
    *start = (struct start){routine, argument};
    int result = create(thread, attributes, stack_size(attributes) < least_stack ? run : run_with_alternate_stack, start);
    if (result != 0) free(start);
    return result;
}
