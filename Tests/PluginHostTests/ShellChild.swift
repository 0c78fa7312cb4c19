import Glibc
import LinuxSystem
import Testing

/// A child that does as it is told, until this is gone.
struct ShellChild: ~Copyable {
  let pid: pid_t

  init(_ command: String) throws {
    var pid = pid_t()
    let words = ["sh", "-c", command]
    var arguments = words.map { word in strdup(word) } + [nil]
    defer { for argument in arguments { free(argument) } }
    try #require(posix_spawn(&pid, "/bin/sh", nil, nil, &arguments, environ) == 0)
    self.pid = pid
  }

  deinit {
    kill(pid, SIGKILL)
    waitpid(pid, nil, 0)
  }

  func until(_ state: String) {
    while (try? Files.text(of: "/proc/\(pid)/stat"))?.contains(") \(state) ") != true { sched_yield() }
  }
}
