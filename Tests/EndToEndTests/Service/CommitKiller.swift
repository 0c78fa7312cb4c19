import Foundation
import Testing

/// A library that is loaded into the service before all others and kills it at one of its journal's commits: where SQLite is
/// about to write the first page of a transaction, or has written the last and is about to synchronise it.
enum CommitKiller {
  static let library = Result {
    let folder = try LibraryTests.folder()
    try LibraryTests.compile(source, "-O1 -o killer.so", in: folder)
    return folder + "/killer.so"
  }

  /// `number` 0: kills no process. Every place is counted by one byte in `counter`.
  static func environment(killAt number: Int, counter: String) throws -> [String: String] {
    ["LD_PRELOAD": try library.get(), "KILL_AT_COMMIT": "\(number)", "COUNT_COMMITS": counter]
  }

  private static let source = """
    #define _GNU_SOURCE
    #include <fcntl.h>
    #include <signal.h>
    #include <stdatomic.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/syscall.h>
    #include <unistd.h>

    static long number = -1;
    static atomic_long seen;
    static atomic_int is_begun;
    static int counter = -1;

    static int ends_with(const char *text, const char *end) {
      size_t length = strlen(text), tail = strlen(end);
      return length >= tail && !strcmp(text + length - tail, end);
    }
    /* The service alone: its fork server and its runners inherit the environment. */
    __attribute__((constructor)) static void begin(void) {
      char path[4096] = "";
      const char *count = getenv("COUNT_COMMITS"), *at = getenv("KILL_AT_COMMIT");
      if (readlink("/proc/self/exe", path, sizeof path - 1) < 0 || !ends_with(path, "/outriderd") || !count || !at) return;
      counter = open(count, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
      number = atol(at);
    }
    static int is_journal(int file) {
      char link[64], path[4096] = "";
      if (number < 0) return 0;
      snprintf(link, sizeof link, "/proc/self/fd/%d", file);
      return readlink(link, path, sizeof path - 1) > 0 && ends_with(path, "-wal");
    }
    static void hit(void) {
      if (syscall(SYS_write, counter, "x", 1) != 1) abort();
      if (atomic_fetch_add(&seen, 1) + 1 == number) kill(getpid(), SIGKILL);
    }
    static void writes(int file) {
      if (is_journal(file) && !atomic_exchange(&is_begun, 1)) hit();
    }
    static void synchronises(int file) {
      if (is_journal(file) && atomic_exchange(&is_begun, 0)) hit();
    }
    ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
      writes(file);
      return syscall(SYS_pwrite64, file, bytes, count, offset);
    }
    ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) { return pwrite64(file, bytes, count, offset); }
    int fdatasync(int file) {
      synchronises(file);
      return (int)syscall(SYS_fdatasync, file);
    }
    int fsync(int file) {
      synchronises(file);
      return (int)syscall(SYS_fsync, file);
    }
    """
}
