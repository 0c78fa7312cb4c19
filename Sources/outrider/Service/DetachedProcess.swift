internal import Foundation
internal import Glibc
internal import LinuxSystem

/// Starts programs that outlive the command and its terminal.
enum DetachedProcess {
  /// Has the number of the descriptor on which a service says that it is ready.
  static let channel: Int32 = 3

  /// posix_spawn(3) of `words`, the first of which is the program's path, with `channel` as descriptor 3. `log`: standard
  /// output and error go to the end of that file, and it leads a session of its own.
  ///
  /// Signals that this process ignores or blocks mean nothing to the new one.
  static func spawn(
    _ words: [String], environment: [String: String], channel: Int32, log: String? = nil
  ) throws(SystemCallError) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    // To the same number it takes close-on-exec away (glibc 2.29).
    posix_spawn_file_actions_adddup2(&actions, channel, Self.channel)
    if let log {
      posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_APPEND | O_CREAT, 0o600)
      posix_spawn_file_actions_adddup2(&actions, 1, 2)
    }
    var (every, none) = (sigset_t(), sigset_t())
    sigfillset(&every)
    sigemptyset(&none)
    posix_spawnattr_setsigdefault(&attributes, &every)
    posix_spawnattr_setsigmask(&attributes, &none)
    let flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | (log == nil ? 0 : newSession)
    posix_spawnattr_setflags(&attributes, Int16(flags))
    var pid: pid_t = 0
    let code = CStrings.with(words) { words in
      CStrings.with(environment.map { "\($0)=\($1)" }) {
        posix_spawn(&pid, words[0]!, &actions, &attributes, words, $0)
      }
    }
    guard code == 0 else { throw SystemCallError("posix_spawn", code: code, subject: words[0]) }
    return pid
  }

  /// Leaves what a process inherited that the programs which it starts mustn't have: a shell's descriptors, which may be
  /// locks or pipes whose readers wait for their end, and a folder whose volume the user wants to unmount.
  static func forgetSurroundings() {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [] {
      guard let number = Int32(name), number > channel else { continue }
      let flags = fcntl(number, F_GETFD)
      if flags >= 0 { _ = fcntl(number, F_SETFD, flags | FD_CLOEXEC) }
    }
    _ = chdir("/")
  }

  /// POSIX_SPAWN_SETSID (spawn.h).
  private static let newSession: Int32 = 0x80
}

/// Texts as execve(2) takes them.
enum CStrings {
  static func with<Result>(
    _ texts: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
  ) -> Result {
    var pointers: [UnsafeMutablePointer<CChar>?] = texts.map { strdup($0) } + [nil]
    defer { for pointer in pointers { free(pointer) } }
    return pointers.withUnsafeMutableBufferPointer { body($0.baseAddress!) }
  }
}
