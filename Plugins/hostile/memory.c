/* Memory: what must be counted, and what must not. The limit of a test is 16 MiB. */
#include "hostile.h"
#include <alloca.h>
#include <linux/mman.h>
#include <pthread.h>
#include <sys/uio.h>

static char *anonymous(size_t size, int protection, int flags) {
  char *bytes = mmap(NULL, size, protection, MAP_ANONYMOUS | flags, -1, 0);
  return bytes == MAP_FAILED ? NULL : bytes;
}
static void stay(void) { for (;;) pause(); }

/* H23: 64 MiB in one step */
EXPORT void h23_malloc(void) { char *bytes = malloc(64 * MiB); if (bytes) touch(bytes, 64 * MiB); stay(); }
/* H24: leaks one MiB every ten milliseconds */
EXPORT void h24_leak(void) {
  for (;;) { char *bytes = malloc(MiB); if (bytes) touch(bytes, MiB); usleep(10000); }
}
/* H25: a burst of four times the limit that is freed at once */
EXPORT int32_t h25_burst(void) {
  char *bytes = anonymous(64 * MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE);
  if (!bytes) return errno;
  touch(bytes, 64 * MiB);
  usleep(5000);
  return TRY(munmap(bytes, 64 * MiB));
}
/* H26: reserves 64 GiB and touches none of it */
EXPORT int32_t h26_reserve(void) {
  char *bytes = anonymous(65536 * MiB, PROT_NONE, MAP_PRIVATE | MAP_NORESERVE);
  return bytes ? TRY(munmap(bytes, 65536 * MiB)) : errno;
}
/* H27: reserves, makes writable, touches */
EXPORT void h27_reserve_then_touch(void) {
  char *bytes = anonymous(1024 * MiB, PROT_NONE, MAP_PRIVATE | MAP_NORESERVE);
  if (bytes && mprotect(bytes, 64 * MiB, PROT_READ | PROT_WRITE) == 0) touch(bytes, 64 * MiB);
  stay();
}
/* H28: shared anonymous memory */
EXPORT void h28_shared(void) {
  char *bytes = anonymous(64 * MiB, PROT_READ | PROT_WRITE, MAP_SHARED);
  if (bytes) touch(bytes, 64 * MiB);
  stay();
}
/* H29: a memory file, mapped */
EXPORT int32_t h29_memfd(void) {
  const int file = memfd_create("h29", MFD_CLOEXEC);
  return file < 0 ? errno : TRY(close(file));
}
/* H30: memory that no map shows: System V shared memory */
EXPORT int32_t h30_shmget(void) { return TRY(syscall(SYS_shmget, 0, -1L, 0)); }
/* H30: a secret memory file */
EXPORT int32_t h30_memfd_secret(void) { return TRY(syscall(447 /* memfd_secret */, -1)); }
/* H31: fills the temporary directory with 64 MiB */
EXPORT int32_t h31_fill_tmp(void) {
  static const char block[65536];
  const int file = open("/tmp/h31", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  int code = file < 0 ? errno : 0;
  for (int n = 0; !code && n < 1024; n++) code = TRY(write(file, block, sizeof block));
  unlink("/tmp/h31");
  return code;
}
/* H31: shared memory by name */
EXPORT int32_t h31_shm_open(void) {
  const int file = shm_open("/h31", O_RDWR | O_CREAT, 0600);
  if (file < 0) return errno;
  close(file);
  return TRY(shm_unlink("/h31"));
}
/* H34: fills the buffers of pipes until no more can be had */
EXPORT int32_t h34_pipes(void) {
  static const char block[4096];
  for (int ends[2];;) {
    if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) < 0) return errno;
    while (write(ends[1], block, sizeof block) > 0) {}
  }
}
/* H34: makes a pipe larger than the usual one */
EXPORT int32_t h34_pipe_size(void) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return errno;
  const int code = TRY(fcntl(ends[1], F_SETPIPE_SZ, 1 << 20));
  close(ends[0]);
  close(ends[1]);
  return code;
}
/* H35: locks memory */
EXPORT int32_t h35_mlock(void) { static char page[8192]; return TRY(mlock(page, sizeof page)); }
/* H35: locks all memory */
EXPORT int32_t h35_mlockall(void) { return TRY(mlockall(0)); }
/* H35: maps locked memory */
EXPORT int32_t h35_map_locked(void) { return anonymous(MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_LOCKED) ? 0 : errno; }
static int32_t map_file(int protection, int flags, int dirties) {
  const int file = written_file("big", 64 * MiB);
  if (file < 0) return -file;
  volatile char *bytes = mmap(NULL, 64 * MiB, protection, flags, file, 0);
  const int code = bytes == MAP_FAILED ? errno : 0;
  close(file);
  if (!code) {
    for (size_t at = 0; at < 64 * MiB; at += 4096) { if (dirties) bytes[at] = 1; else (void)bytes[at]; }
    munmap((void *)bytes, 64 * MiB);
  }
  unlink(in_container("big"));
  return code;
}
/* H36: maps four times the limit of a file read-only and reads it all */
EXPORT int32_t h36_file_read(void) { return map_file(PROT_READ, MAP_SHARED, 0); }
/* H38: writes four times the limit to a file */
EXPORT int32_t h38_file_written(void) {
  const int file = written_file("big", 64 * MiB);
  if (file < 0) return -file;
  unlink(in_container("big"));
  return TRY(close(file));
}
/* H39: dirties four times the limit of a shared file mapping */
EXPORT int32_t h39_file_shared_dirty(void) { return map_file(PROT_READ | PROT_WRITE, MAP_SHARED, 1); }
/* H40: maps a big file private and writable, reads it and never writes */
EXPORT int32_t h40_file_private_clean(void) { return map_file(PROT_READ | PROT_WRITE, MAP_PRIVATE, 0); }
/* H41: dirties a private file mapping: every page becomes the plugin's own */
EXPORT void h41_file_private_dirty(void) { map_file(PROT_READ | PROT_WRITE, MAP_PRIVATE, 1); stay(); }
static void *grow(void *unused) {
  (void)unused;
  char *bytes = anonymous(8 * MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE);
  if (bytes) touch(bytes, 8 * MiB);
  stay();
  return NULL;
}
/* H44: splits 64 MiB over eight threads */
EXPORT void h44_split(void) {
  pthread_t thread;
  for (int n = 0; n < 8; n++) pthread_create(&thread, NULL, grow, NULL);
  stay();
}
/* H45: touches one byte of each two MiB after asking for huge pages; small when huge pages are off */
EXPORT int32_t h45_sparse(void) {
  char *bytes = anonymous(64 * MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE);
  if (!bytes) return errno;
  madvise(bytes, 64 * MiB, MADV_HUGEPAGE);
  for (size_t at = 0; at < 64 * MiB; at += 2 * MiB) ((volatile char *)bytes)[at] = 1;
  usleep(20000);
  return TRY(munmap(bytes, 64 * MiB));
}
/* H45: huge pages by flag */
EXPORT int32_t h45_hugetlb(void) { return anonymous(2 * MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_HUGETLB) ? 0 : errno; }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winfinite-recursion"
static int deeper(volatile char *above) {
  volatile char frame[4096];
  frame[0] = above ? above[0] : 1;
  frame[4095] = frame[0];
  const int below = deeper(frame);
  return below + frame[4095];
}
/* H46: endless recursion */
EXPORT void h46_stack_overflow(void) { deeper(NULL); }
#pragma GCC diagnostic pop
/* H46: a gibibyte on the stack */
EXPORT void h46_alloca(void) { volatile char *bytes = alloca(1024 * MiB); bytes[0] = 1; bytes[1024 * MiB - 1] = 1; stay(); }
/* H48: pushes its own pages out while it grows, to look small */
EXPORT void h48_pageout(void) {
  for (;;) {
    char *bytes = anonymous(4 * MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    if (bytes) { touch(bytes, 4 * MiB); madvise(bytes, 4 * MiB, 21 /* MADV_PAGEOUT */); }
    usleep(1000);
  }
}
/* H50: handles its own page faults */
EXPORT int32_t h50_userfaultfd(void) { const long file = syscall(SYS_userfaultfd, 1 /* user mode only */); return file < 0 ? errno : TRY(close((int)file)); }
/* H50: registered buffers behind a ring */
EXPORT int32_t h50_io_uring(void) { return TRY(syscall(SYS_io_uring_setup, 0, NULL)); }
/* H23: a small allocation far below the limit */
EXPORT int32_t h23_below_limit(void) {
  char *bytes = malloc(2 * MiB);
  if (!bytes) return ENOMEM;
  touch(bytes, 2 * MiB);
  free(bytes);
  return 0;
}
