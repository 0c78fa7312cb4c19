#ifndef THREAD_H
#define THREAD_H

#include <pthread.h>
#include <signal.h>

/* pthread_create(3), for what is loaded into a runner: the thread has an alternate stack for signals (sigaltstack(2)) at the top of its
   own, so that the runner's handler can say where its stack overflowed, unless that stack is smaller than 512 KiB. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *), void *argument);

/* pthread_sigmask(3) and sigprocmask(2), for what is loaded into a runner. A thread that blocks the signals of its own faults is killed
   by the kernel before the runner's handler could say where it was: those stay unblocked. POSIX leaves it undefined to block them. */
int pthread_sigmask(int how, const sigset_t *set, sigset_t *old);
int sigprocmask(int how, const sigset_t *set, sigset_t *old);

#endif
