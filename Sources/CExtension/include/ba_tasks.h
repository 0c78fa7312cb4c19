/* Where Swift's runtime lets a program see which jobs of tasks are ready to run. Defined by libswift_Concurrency. */
#ifndef BA_TASKS_H
#define BA_TASKS_H

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __clang__

#define BA_SWIFT __attribute__((swiftcall))

typedef BA_SWIFT void (*ba_enqueue)(void *job);
typedef void (*ba_enqueued)(void *job, void *original);

extern void *swift_task_enqueueGlobal_hook;
extern void *swift_task_enqueueMainExecutor_hook;
extern BA_SWIFT void swift_job_run(void *job, uintptr_t executor, uintptr_t implementation);

/* Both are called from any thread in the place of what the runtime does. With two words and no context, Swift's calling
   convention is C's. */
static inline void ba_observe_tasks(ba_enqueued global, ba_enqueued main) {
  swift_task_enqueueGlobal_hook = (void *)global;
  swift_task_enqueueMainExecutor_hook = (void *)main;
}

static inline int ba_is_first_thread(void) { return syscall(SYS_gettid) == getpid(); }

/* Does what the runtime would have done. */
static inline void ba_enqueue_job(void *job, void *original) { ((ba_enqueue)original)(job); }

/* Runs a job of the global executor on the calling thread until it ends or its task suspends. */
static inline void ba_run_job(void *job) { swift_job_run(job, 0, 0); }

#endif
#endif
