/* Where Swift's runtime lets a program see which jobs of tasks are ready to run. Defined by libswift_Concurrency. */
#ifndef BA_TASKS_H
#define BA_TASKS_H

#include <poll.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __clang__

#define BA_SWIFT __attribute__((swiftcall))

typedef void (*ba_enqueued)(void *job, void *original);

extern BA_SWIFT void swift_job_run(void *job, uintptr_t executor, uintptr_t implementation);

/* `global` and `main` are called from any thread in the place of what the runtime does. With two words and no context,
   Swift's calling convention is C's. `executor` is an UnownedSerialExecutor for the main actor, whose jobs the runtime
   would otherwise put on the main queue without a word. */
void ba_observe_tasks(ba_enqueued global, ba_enqueued main, const void *executor);

static inline int ba_is_first_thread(void) { return syscall(SYS_gettid) == getpid(); }

extern int _dispatch_get_main_queue_handle_4CF(void);

/* Whether the main queue has something to do: its descriptor can be read from then until it is empty. It belongs to the run
   loop, which polls it likewise. */
static inline int ba_main_queue_waits(void) {
  struct pollfd queue = {_dispatch_get_main_queue_handle_4CF(), POLLIN, 0};
  return poll(&queue, 1, 0) > 0 && queue.revents & POLLIN;
}

/* Runs a job of the global executor on the calling thread until it ends or its task suspends. */
static inline void ba_run_job(void *job) { swift_job_run(job, 0, 0); }

#endif
#endif
