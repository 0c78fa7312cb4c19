/* Memory: H23 to H50. Sizes go with `--memory 16MiB` unless expected.tsv says otherwise. */
#include "hostile.h"

#include <alloca.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define MUCH (64 * MIB)

static void *map(size_t bytes, int protection, int flags, int file) {
  void *memory = mmap(NULL, bytes, protection, flags, file, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

static void *anonymous(size_t bytes) { return map(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1); }

int32_t h24_leak(void);

static int32_t fill(void *memory, size_t bytes) {
  if (!memory) return errno;
  touch(memory, bytes);
  return 0;
}

/* H23: all at once. */
EXPORT int32_t h23_one_step(void) { return fill(malloc(MUCH), MUCH); }

static void *leaking_thread(void *unused) {
  (void)unused;
  h24_leak();
  wait_forever();
  return NULL;
}

/* H24: from a thread, after the first one has ended: of that the kernel tells no memory any more. */
EXPORT void h24_without_first_thread(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, leaking_thread, NULL) == 0) syscall(SYS_exit, 0);
}

/* H24: little by little: 1 MiB every 10 ms. */
EXPORT int32_t h24_leak(void) {
  for (size_t done = 0; done < MUCH; done += MIB, usleep(10000)) {
    void *memory = malloc(MIB);
    if (fill(memory, MIB)) return ENOMEM;
    /* The compiler may not take the memory for unused. */
    __asm__ volatile("" : : "r"(memory) : "memory");
  }
  return 0;
}

/* H25: a burst of a few milliseconds, given back at once: a sampler may miss it, the kernel doesn't. */
EXPORT int32_t h25_burst(void) {
  void *memory = anonymous(MUCH);
  int32_t code = fill(memory, MUCH);
  if (memory) munmap(memory, MUCH);
  return code;
}

/* H26: reserves much and uses nothing, as allocators and language runtimes do. Not to be punished. */
EXPORT int32_t h26_reserve(void) {
  void *memory = map((size_t)64 << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  return memory ? outcome(munmap(memory, (size_t)64 << 30)) : errno;
}

/* H27: reserves, then uses. */
EXPORT int32_t h27_reserve_and_touch(void) {
  void *memory = map(MUCH, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (!memory || mprotect(memory, MUCH, PROT_READ | PROT_WRITE) < 0) return errno;
  return fill(memory, MUCH);
}

/* H28: shared memory, which RLIMIT_DATA doesn't count. */
EXPORT int32_t h28_shared(void) {
  return fill(map(MUCH, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1), MUCH);
}

/* H28: shared memory of which no more than 1 MiB is ever in the page tables: what was written stays where it is. */
EXPORT int32_t h28_shared_unseen(void) {
  char *memory = map(MUCH, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
  if (!memory) return errno;
  for (size_t at = 0; at < MUCH; at += MIB) {
    touch(memory + at, MIB);
    madvise(memory + at, MIB, MADV_DONTNEED);
  }
  return 0;
}

/* H28: the same in pieces, each unmapped but for a page that keeps the rest. */
EXPORT int32_t h28_shared_pieces(void) {
  for (size_t done = 0; done < MUCH; done += MIB) {
    char *memory = map(MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
    if (!memory) return errno;
    touch(memory, MIB);
    if (munmap(memory + 4096, MIB - 4096) < 0) return errno;
  }
  return 0;
}

/* H28: the same through a second mapping of the same pages (mremap of size 0), grown as far as it goes. */
EXPORT int32_t h28_shared_twice(void) {
  for (size_t done = 0; done < MUCH; done += MIB) {
    char *memory = map(MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
    if (!memory) return errno;
    char *other = mremap(memory, 0, 2 * MIB, MREMAP_MAYMOVE);
    if (other == MAP_FAILED || munmap(memory, MIB) < 0) return errno;
    touch(other, MIB);
    madvise(other, MIB, MADV_DONTNEED);
  }
  return 0;
}

/* H28: bytes instead of pages: a mapping of one byte has 4,096. */
EXPORT int32_t h28_shared_bytes(void) {
  for (size_t done = 0; done < MUCH; done += 4096) {
    char *memory = map(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
    if (!memory) return errno;
    memory[4095] = 1;
    madvise(memory, 4096, MADV_DONTNEED);
  }
  return 0;
}

/* H28: shared memory by mapping a device, where the flags say nothing of it. */
EXPORT int32_t h28_dev_zero(void) {
  int file = open("/dev/zero", O_RDWR | O_CLOEXEC);
  return file < 0 ? errno : fill(map(MUCH, PROT_READ | PROT_WRITE, MAP_SHARED, file), MUCH);
}

/* H29: a memory file, mapped. */
EXPORT int32_t h29_memfd_mapped(void) {
  int file = memfd_create("h29", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, (off_t)MUCH) < 0) return errno;
  return fill(map(MUCH, PROT_READ | PROT_WRITE, MAP_SHARED, file), MUCH);
}

/* H30: a memory file, written and never mapped: no counter of the process shows it. */
EXPORT int32_t h30_memfd_written(void) {
  static const char block[65536];
  int file = memfd_create("h30", MFD_CLOEXEC);
  if (file < 0) return errno;
  for (size_t done = 0; done < MUCH; done += sizeof block)
    if (write(file, block, sizeof block) < 0) return errno;
  close(file);
  return 0;
}

/* H30: memory that even the kernel can't see into. */
EXPORT int32_t h30_memfd_secret(void) { return opened(syscall(SYS_memfd_secret, 0)); }

/* H31: fills the scratch directory, which is memory. */
EXPORT int32_t h31_scratch(void) {
  static const char block[65536];
  char path[4096];
  int32_t code = 0;
  strcpy(path, in_scratch("h31"));
  int file = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return errno;
  for (size_t done = 0; done < MUCH && code == 0; done += sizeof block) {
    ssize_t count = write(file, block, sizeof block);
    if (count < (ssize_t)sizeof block) code = count < 0 ? errno : ENOSPC;
  }
  close(file);
  unlink(path);
  return code;
}

/* H31: the machine's shared memory directory. */
EXPORT int32_t h31_dev_shm(void) {
  int32_t code = opened(open("/dev/shm/h31-canary", O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  if (code == 0) unlink("/dev/shm/h31-canary");
  return code;
}

/* H34: pipes, each filled, until no more descriptors are left. */
EXPORT int32_t h34_pipes(void) {
  static const char block[65536];
  for (int ends[2], count = 0; count < 400; count++) {
    if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) < 0) return errno;
    if (write(ends[1], block, sizeof block) < 0) return errno;
  }
  return 0;
}

/* H34: a pipe that holds more than it does by default. */
EXPORT int32_t h34_bigger_pipe(void) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return errno;
  int32_t code = outcome(fcntl(ends[1], F_SETPIPE_SZ, 1 << 20));
  close(ends[0]);
  close(ends[1]);
  return code;
}

/* H34: timers, each of which is the kernel's memory. */
EXPORT int32_t h34_timers(void) {
  struct sigevent event = {.sigev_notify = SIGEV_NONE};
  for (int count = 0; count < 2000; count++) {
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0) return errno;
  }
  return 0;
}

/* H34: locks, each of a byte of its own: the kernel's memory too. In several files, for it looks through a file's list. */
EXPORT int32_t h34_locks(void) {
  char name[32];
  for (int count = 0; count < 100; count++) {
    snprintf(name, sizeof name, "h34-locks-%d", count);
    int file = open(in_container(name), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0) return errno;
    for (off_t at = 2000; at > 0; at -= 2) {
      struct flock lock = {.l_type = F_WRLCK, .l_start = at, .l_len = 1};
      if (fcntl(file, F_SETLK, &lock) < 0) return errno;
    }
  }
  return 0;
}

/* H34: pages lent to a pipe, and memory in flight. */
EXPORT int32_t h34_vmsplice(void) {
  static char page[4096];
  struct { void *base; size_t length; } vector = {page, sizeof page};
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return errno;
  return outcome(syscall(SYS_vmsplice, ends[1], &vector, 1, 0));
}

/* H34: a page of a file that stays in a pipe, or in a socket, after the file is gone: 2 MiB for one byte where its cache is
   made of such. Copying from file to file leaves nothing behind. */
EXPORT int32_t h34_pin(const char *way) {
  char path[4096], byte = 0;
  strcpy(path, in_container("h34-pin"));
  int file = open(path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600), first[2], second[2];
  if (file < 0 || write(file, "pinned", 6) != 6 || pipe2(first, O_CLOEXEC) < 0 || pipe2(second, O_CLOEXEC) < 0) return errno;
  loff_t from = 0, to = 4096;
  if (strcmp(way, "copy_file_range") == 0) return outcome(copy_file_range(file, &from, file, &to, 1, 0));
  if (strcmp(way, "splice") == 0) return outcome(splice(file, &from, first[1], NULL, 1, 0));
  if (strcmp(way, "sendfile") == 0) return outcome(syscall(SYS_sendfile, first[1], file, &from, 1));
  if (write(first[1], &byte, 1) != 1) return errno;
  return outcome(tee(first[0], second[1], 1, 0));
}

/* H34: descriptors until none is left. */
EXPORT int32_t h34_descriptors(void) {
  int32_t code = 0;
  int opened_here[2048], count = 0;
  for (; count < 2048 && code == 0; count++) code = outcome(opened_here[count] = dup(1));
  while (count > 0) close(opened_here[--count]);
  return code;
}

/* H35: pins a file's pages: within a memory cgroup that would kill whoever maps the file. */
EXPORT int32_t h35_mlock(void) {
  int file = open(own_file(), O_RDONLY | O_CLOEXEC);
  void *memory = map(4096, PROT_READ, MAP_SHARED, file);
  return memory ? outcome(mlock(memory, 4096)) : errno;
}

/* H35: the same by a flag of the mapping. */
EXPORT int32_t h35_map_locked(void) {
  return map(4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1) ? 0 : errno;
}

/* H35: pins everything, now and later. */
EXPORT int32_t h35_mlockall(void) { return outcome(mlockall(MCL_CURRENT | MCL_FUTURE)); }

/* As big_file, but what is written reaches the disk MiB by MiB: in a memory cgroup of version 1 the kernel may end whoever
   makes pages dirty faster than a busy disk takes them, and that isn't what is tried. */
static int clean_file(const char *name, size_t bytes) {
  static const char block[65536];
  int file = big_file(name, 0);
  for (size_t done = 0; file >= 0 && done < bytes; done += sizeof block) {
    if (write(file, block, sizeof block) == sizeof block && (done % (1 << 20) || fdatasync(file) == 0)) continue;
    close(file);
    return -1;
  }
  return file;
}

/* H36: reads a mapped file of four times the limit. Not to be punished. */
EXPORT int32_t h36_read_big_file(void) {
  int file = clean_file("h36", MUCH);
  const volatile char *memory = file < 0 ? NULL : map(MUCH, PROT_READ, MAP_SHARED, file);
  if (!memory) return errno;
  for (size_t at = 0; at < MUCH; at += 4096) (void)memory[at];
  return outcome(unlink(in_container("h36")));
}

/* H38: writes a file of four times the limit. Not to be punished for memory. */
EXPORT int32_t h38_write_big_file(void) {
  int32_t code = opened(big_file("h38", MUCH));
  return code ? code : outcome(unlink(in_container("h38")));
}

/* H39: dirties a shared file mapping of four times the limit. Not to be punished. */
EXPORT int32_t h39_dirty_shared_file(void) {
  int file = big_file("h39", MUCH);
  void *memory = file < 0 ? NULL : map(MUCH, PROT_READ | PROT_WRITE, MAP_SHARED, file);
  if (!memory) return errno;
  touch(memory, MUCH);
  return outcome(unlink(in_container("h39")));
}

/* H40: a private writable mapping of a big file that is never written. Not to be punished. */
EXPORT int32_t h40_private_unwritten(void) {
  int file = clean_file("h40", MUCH);
  volatile char *memory = file < 0 ? NULL : map(MUCH, PROT_READ | PROT_WRITE, MAP_PRIVATE, file);
  if (!memory) return errno;
  for (size_t at = 0; at < MUCH; at += 4096) (void)memory[at];
  return outcome(unlink(in_container("h40")));
}

/* H41: the same, written: every page becomes a copy of its own. */
EXPORT int32_t h41_private_written(void) {
  int file = big_file("h41", MUCH);
  unlink(in_container("h41"));
  return file < 0 ? errno : fill(map(MUCH, PROT_READ | PROT_WRITE, MAP_PRIVATE, file), MUCH);
}

/* H43: starts over with fresh counters. */
EXPORT int32_t h43_exec(void) {
  static char *arguments[] = {"true", NULL}, *environment[] = {NULL};
  return outcome(execve("/bin/true", arguments, environment));
}

/* H44: four children with a quarter each. */
EXPORT int32_t h44_children(void) {
  for (int index = 0; index < 4; index++) {
    pid_t child = fork();
    if (child < 0) return errno;
    if (child == 0) _exit(fill(anonymous(MUCH / 4), MUCH / 4));
    waitpid(child, NULL, 0);
  }
  return 0;
}

/* H45: one byte in each 2 MiB of what is asked to be huge pages. */
EXPORT int32_t h45_sparse_huge(void) {
  char *memory = anonymous(MUCH);
  if (!memory) return errno;
  madvise(memory, MUCH, MADV_HUGEPAGE);
  for (size_t at = 0; at < MUCH; at += 2 * MIB) *(volatile char *)(memory + at) = 1;
  return 0;
}

/* H45: pages of the machine's reserve. */
EXPORT int32_t h45_hugetlb(void) {
  return map(2 * MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1) ? 0 : errno;
}

static int deeper(volatile char *above) {
  volatile char here[4096];
  here[0] = above[0];
  return *above == 2 ? 0 : deeper(here) + here[0];
}

/* H46: recursion without end. */
EXPORT int32_t h46_stack_overflow(void) {
  volatile char first = 1;
  return deeper(&first);
}

/* H46: a frame of 1 GiB. */
EXPORT int32_t h46_alloca(void) {
  volatile size_t size = 1024 * MIB;
  volatile char *frame = alloca(size);
  frame[0] = 1;
  return frame[0];
}

/* H47: much dirty memory at the moment of the kill (`--memory 1GiB --wall 2s`): going takes time. */
EXPORT void h47_dirty_and_wait(void) {
  fill(anonymous(512 * MIB), 512 * MIB);
  wait_forever();
}

/* H48: pushes its pages out to look small. */
EXPORT int32_t h48_pageout(void) {
  char *memory = anonymous(MUCH);
  if (!memory) return errno;
  for (size_t at = 0; at < MUCH; at += MIB) {
    touch(memory + at, MIB);
    madvise(memory + at, MIB, MADV_PAGEOUT);
  }
  return 0;
}

/* H50: pages that another descriptor provides. */
EXPORT int32_t h50_userfaultfd(void) { return opened(syscall(SYS_userfaultfd, O_CLOEXEC)); }
