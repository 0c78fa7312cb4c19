/* What the behaviours of this folder share. */
#ifndef HOSTILE_TIME_H
#define HOSTILE_TIME_H

#include "hostile.h"

#include <pthread.h>
#include <sys/time.h>

void h13_flood(void);

/* An empty loop may be taken for one that ends; this one can't. */
static inline void spin(void) {
  for (volatile unsigned long turns = 0;; turns++) {
  }
}

static inline void *spinning_thread(void *unused) {
  spin();
  return unused;
}

static inline void ignore_signal(int number) { (void)number; }

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static inline void *waiting_thread(void *unused) {
  pthread_mutex_lock(&gate);
  pthread_mutex_unlock(&gate);
  return unused;
}

static inline int32_t storm(long microseconds) {
  struct itimerval every = {{0, microseconds}, {0, microseconds}}, never = {{0, 0}, {0, 0}};
  signal(SIGALRM, ignore_signal);
  if (setitimer(ITIMER_REAL, &every, NULL) < 0) return errno;
  for (int index = 0; index < 100; index++) syscall(SYS_kcmp, -1, -1, -1, 0, 0);
  return outcome(setitimer(ITIMER_REAL, &never, NULL));
}

#endif
