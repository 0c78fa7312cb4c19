#include "ol_region.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

int ol_region_create(size_t bytes, int *descriptor) {
  struct rlimit limit;
  /* Beyond it ftruncate(2) sends a signal that ends the process. */
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes) return EFBIG;
  int file = memfd_create("outrider-calls", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  /* Before Linux 6.3. */
  if (file < 0 && errno == EINVAL) file = memfd_create("outrider-calls", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return errno;
  if (ftruncate(file, (off_t)bytes) < 0 || fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
    int code = errno;
    close(file);
    return code;
  }
  *descriptor = file;
  return 0;
}

int ol_region_map(int descriptor, size_t bytes, void **start) {
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) return errno;
  madvise(memory, bytes, MADV_DONTFORK);
  *start = memory;
  return 0;
}

int ol_region_fill(int descriptor, size_t offset, size_t count) {
  int result;
  do result = fallocate(descriptor, 0, (off_t)offset, (off_t)count);
  while (result < 0 && errno == EINTR);
  return result < 0 ? errno : 0;
}

int ol_region_used(int descriptor, uint64_t *bytes) {
  struct stat status;
  if (fstat(descriptor, &status) < 0) return errno;
  *bytes = (uint64_t)status.st_blocks * 512;
  return 0;
}

void ol_region_free(void *start, size_t bytes) { madvise(start, bytes, MADV_REMOVE); }

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static inline void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield" ::: "memory");
#endif
}

int ol_region_spin(const uint32_t *word, uint32_t before, uint64_t nanoseconds) {
  /* An answer that comes at once isn't kept waiting by a look at the clock. */
  uint64_t end = 0;
  do {
    for (int turns = 0; turns < 16; turns++) {
      if (ol_region_load(word) != before) return 1;
      relax();
    }
    if (!end) end = now() + nanoseconds;
  } while (now() < end);
  return ol_region_load(word) != before;
}

int ol_region_spin_until_taken(struct ol_words *words, uint32_t last, uint64_t nanoseconds) {
  uint64_t end = now() + nanoseconds;
  do {
    for (int turns = 0; turns < 16; turns++) {
      if (ol_region_load(ol_question_word(words)) != last) return OL_IS_ASKED;
      if (ol_region_load(ol_taken(words)) == last) return OL_IS_TAKEN;
      relax();
    }
  } while (now() < end);
  return OL_TIME_IS_OVER;
}

void ol_region_sleep(const uint32_t *word, uint32_t before, uint64_t nanoseconds) {
  struct timespec time = {(time_t)(nanoseconds / 1000000000u), (long)(nanoseconds % 1000000000u)};
  syscall(SYS_futex, word, FUTEX_WAIT, before, &time, NULL, 0);
}

void ol_region_wake(const uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0); }

int ol_usable_processors(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (int)online : 1;
}

uint32_t ol_processor(void) { return (uint32_t)(sched_getcpu() + 1); }

int ol_change_processor(void) {
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return errno;
  int here = sched_getcpu();
  if (here < 0) return errno;
  if (here >= CPU_SETSIZE) return EINVAL;
  cpu_set_t others = usable;
  CPU_CLR(here, &others);
  if (CPU_COUNT(&others) == 0) return EINVAL;
  if (sched_setaffinity(0, sizeof others, &others) != 0) return errno;
  return sched_setaffinity(0, sizeof usable, &usable) == 0 ? 0 : errno;
}

int ol_is_either_readable(int first, int second) {
  struct pollfd entries[] = {{first, POLLIN, 0}, {second, POLLIN, 0}};
  int result;
  do result = poll(entries, 2, 0);
  while (result < 0 && errno == EINTR);
  return result > 0;
}

int ol_is_finished(int socket) {
  char byte;
  ssize_t count = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR);
}
