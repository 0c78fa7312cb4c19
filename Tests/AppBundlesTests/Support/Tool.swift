import Foundation
import Glibc
import LinuxSystem

/// A program that is run to its end.
enum Tool {
  /// Where the built products lie.
  static let products = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    .deletingLastPathComponent().path

  struct Ended {
    var status: Int32
    var output: String
    var errors: String

    var code: Int32? { status & 0x7f == 0 ? status >> 8 & 0xff : nil }
  }

  /// A name without '/' is looked up in PATH.
  @discardableResult
  static func run(_ program: String, _ arguments: [String], in folder: String? = nil) throws -> Ended {
    let log = try Scratch()
    // Glibc's posix_spawn_file_actions_addchdir_np isn't visible to Swift.
    let moved = folder.map { ["sh", "-c", "cd \"$0\" && exec \"$@\"", $0] } ?? []
    let all = moved + [program] + arguments
    var words: [UnsafeMutablePointer<CChar>?] = all.map { strdup($0) }
    words.append(nil)
    defer { for word in words { free(word) } }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, "\(log.path)/out", O_WRONLY | O_CREAT, 0o600)
    posix_spawn_file_actions_addopen(&actions, 2, "\(log.path)/err", O_WRONLY | O_CREAT, 0o600)
    var process: pid_t = 0
    let code = posix_spawnp(&process, all[0], &actions, nil, &words, environ)
    guard code == 0 else { throw SystemCallError("posix_spawn", code: code, subject: program) }
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    let end = Ended(
      status: status, output: (try? Files.text(of: "\(log.path)/out", limit: 1 << 20)) ?? "",
      errors: (try? Files.text(of: "\(log.path)/err", limit: 1 << 20)) ?? "")
    return withExtendedLifetime(log) { end }
  }

  static func exists(_ program: String) -> Bool { (try? run(program, ["--version"]))?.code == 0 }
}
