import Foundation
import LinuxSystem

/// A program that is run to its end.
enum ChildProcess {
  /// Where the built products lie.
  static let products = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    .deletingLastPathComponent().path

  struct Ended {
    /// As waitpid(2) has it.
    var status: Int32
    /// Standard output and standard error.
    var output: String

    var wasKilled: Bool { status & 0x7f == SIGKILL }
    var code: Int32? { status & 0x7f == 0 ? status >> 8 & 0xff : nil }
  }

  /// `log`: a file for what it prints.
  static func run(_ program: String, _ arguments: [String], log: String) async throws -> Ended {
    let process = try spawn(program, arguments, log)
    // Looked at now and then: what waited here would take one of the few threads that all tests share, for most of a minute.
    var status: Int32 = 0
    while waitpid(process, &status, WNOHANG) == 0 { try await Task.sleep(for: .milliseconds(1)) }
    return Ended(status: status, output: (try? Files.text(of: log)) ?? "")
  }

  /// Likewise, for what is over in a moment.
  static func runBriefly(_ program: String, _ arguments: [String]) throws -> Ended {
    let process = try spawn(program, arguments, "/dev/null")
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    return Ended(status: status, output: "")
  }

  private static func spawn(_ program: String, _ arguments: [String], _ log: String) throws -> pid_t {
    var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) }
    words.append(nil)
    defer { for word in words { free(word) } }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    posix_spawn_file_actions_adddup2(&actions, 1, 2)
    var process: pid_t = 0
    let code = posix_spawn(&process, program, &actions, nil, &words, environ)
    guard code == 0 else { throw SystemCallError("posix_spawn", code: code, subject: program) }
    return process
  }
}
