#include "ba_tasks.h"

#include <stdbool.h>
#include <string.h>

typedef struct {
  void *identity;
  void *implementation;
} executor;

typedef BA_SWIFT executor (*get_executor)(void);
typedef BA_SWIFT bool (*is_executor)(executor candidate);

extern void *swift_task_enqueueGlobal_hook;
extern void *swift_task_enqueueMainExecutor_hook;
extern void *swift_task_getMainExecutor_hook;
extern void *swift_task_isMainExecutor_hook;

static executor main_executor;

static BA_SWIFT executor get_main(get_executor original) {
  (void)original;
  return main_executor;
}

/* The runtime's own may have been handed out before. */
static BA_SWIFT bool is_main(executor candidate, is_executor original) {
  return candidate.identity == main_executor.identity || original(candidate);
}

void ba_observe_tasks(ba_enqueued global, ba_enqueued main, const void *executor) {
  memcpy(&main_executor, executor, sizeof main_executor);
  swift_task_enqueueGlobal_hook = (void *)global;
  swift_task_enqueueMainExecutor_hook = (void *)main;
  swift_task_getMainExecutor_hook = (void *)get_main;
  swift_task_isMainExecutor_hook = (void *)is_main;
}
