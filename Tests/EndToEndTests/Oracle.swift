import Foundation
import HostProtocol
import PolicyLab
import Sandbox
import Synchronization
import TestSupport
import Testing

/// strace as an oracle of what a plugin tries, which knows nothing of policies: what worked outside of the walls and fails inside them
/// was refused, and has to be in the report.
enum Oracle {
  /// Answers of limits and of the plugin's own mistakes, not of a wall.
  private static let notRefusals: Set<String> = [
    "EMFILE", "EFBIG", "EAGAIN", "ENOMEM", "ENOSPC", "EINTR", "EBADF", "ECHILD", "EEXIST", "ESRCH",
    // Two filesystems, as there are outside of walls, too: who links copies then.
    "EXDEV",
  ]
  /// What the filter answers itself and no report has (docs/security.md): with ENOSYS, so that the C library goes another way.
  private static let unrecorded: Set<String> = ["clone3", "sendfile", "splice", "tee"]

  /// What makes files longer.
  private static let lengthening: Set<String> = [
    "write", "pwrite64", "writev", "pwritev", "pwritev2", "truncate", "ftruncate", "fallocate", "copy_file_range",
  ]

  struct Figures {
    var attempts = 0
    var refused = 0
    /// Refused, and not in the report.
    var missed: [String] = []
    var denials = 0
    /// In the report, and not seen by strace.
    var unconfirmed: [String] = []

    static func += (left: inout Figures, right: Figures) {
      left.attempts += right.attempts
      left.refused += right.refused
      left.missed += right.missed
      left.denials += right.denials
      left.unconfirmed += right.unconfirmed
    }

    /// As docs/policy-testing.md states it.
    var text: String {
      """
      \(attempts) attempts; \(refused) calls refused, \(refused - missed.count) of them in the report: \
      recall \(Self.share(refused - missed.count, of: refused)); \(denials) denials in the report, \
      \(denials - unconfirmed.count) of them seen by strace: precision \(Self.share(denials - unconfirmed.count, of: denials))
      """
    }

    private static func share(_ part: Int, of whole: Int) -> String {
      whole == 0 ? "none" : "\((Double(part) / Double(whole) * 1000).rounded(.down) / 10) %"
    }
  }

  /// Adds up what tests that run side by side found, and prints it once all of them have.
  final class Sum: Sendable {
    private let name: String
    private let parts: Int
    private let state = Mutex<(figures: Figures, done: Int)>((Figures(), 0))

    init(_ name: String, parts: Int) { (self.name, self.parts) = (name, parts) }

    /// Those of all, for the last one.
    func add(_ figures: Figures) -> Figures? {
      let sum = state.withLock { state -> Figures? in
        state.figures += figures
        state.done += 1
        return state.done == parts ? state.figures : nil
      }
      if let sum { print("oracle, \(name): \(sum.text)") }
      return sum
    }
  }

  /// One attempt. `ignoring`: what no report has of it beside.
  static func compare(
    _ name: String, outside: [StraceLog.Call], inside: [StraceLog.Call], denials: [Observed.Denial],
    ignoring: Set<String> = []
  ) -> Figures {
    var figures = Figures(attempts: 1)
    let worked = Set(outside.filter { $0.error == nil }.map(Key.init))
    let works = Set(inside.filter { $0.error == nil && $0.hasReturned }.map(Key.init))
    let failed = inside.filter { $0.error.map { !notRefusals.contains($0) } ?? false }
    let links = Dictionary(
      inside.filter { $0.name.hasPrefix("symlink") && $0.error == nil && $0.paths.count == 2 }.map {
        ($0.paths[1], $0.paths[0])
      }, uniquingKeysWith: { $1 })
    for (key, call) in Dictionary(failed.map { (Key($0), $0) }, uniquingKeysWith: { first, _ in first })
    where worked.contains(key) && !works.contains(key) {
      if unrecorded.contains(key.name) || ignoring.contains(key.name) { continue }
      // Of what was never made, since that was refused: no wall hides what is in a folder of its own, but a link leads out of it.
      if call.error == "ENOENT", let path = key.path, links[path] == nil, isOwn(path) { continue }
      figures.refused += 1
      if !denials.contains(where: { isOf($0, key.name, call.paths + call.paths.compactMap { links[$0] }) }) {
        figures.missed.append("\(name): \(call.name)(\(call.arguments))")
      }
    }
    for denial in denials {
      figures.denials += 1
      let isConfirmed = inside.contains {
        isOf(denial, $0.name, $0.paths + $0.paths.compactMap { links[$0] }) && ($0.error != nil || !$0.hasReturned)
      }
      if !isConfirmed { figures.unconfirmed.append("\(name): \(denial.call)(\(denial.target))") }
    }
    return figures
  }

  private static func isOwn(_ path: String) -> Bool {
    [RunnerView.container, RunnerView.temporary].contains { path.hasPrefix($0 + "/") }
  }

  /// Whether a row of the report is of a call.
  private static func isOf(_ denial: Observed.Denial, _ call: String, _ paths: [String]) -> Bool {
    // The host sees the packet by which a connection begins, and not by which call it was sent. Nor by which a file was to become
    // longer than it may be.
    guard
      denial.call == call || denial.wall == "network" && call == "sendto"
        || denial.wall == "limits" && denial.call == SystemCalls.lengthening && lengthening.contains(call)
    else { return false }
    // Paths are named for files alone; of the runtime, which no policy lets a plugin change, the folder is.
    guard denial.wall == "files", !paths.isEmpty else { return true }
    return paths.contains { path in
      // A relative one begins at a descriptor, or is a part of what it led to.
      path.hasPrefix("/")
        ? denial.target.contains(path) || denial.writes && path.hasPrefix(denial.target + "/")
        : denial.target.hasSuffix("/" + path) || !path.contains(where: { $0 != "." })
    }
  }

  /// What tells two calls apart, without what is another number in each process.
  private struct Key: Hashable {
    var name: String
    var path: String?
    var detail = ""

    init(_ call: StraceLog.Call) {
      (name, path) = (call.name, call.path)
      switch name {
      case "socket": detail = call.arguments
      // The protection.
      case "mmap", "mprotect", "pkey_mprotect":
        let words = call.arguments.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        detail = words.count > 2 ? words[2] : ""
      default: break
      }
    }
  }

  /// strace of a process that runs already.
  final class Attached: @unchecked Sendable {
    private let strace = TestProcess()
    private let errors = Pipe.own()
    private let log: String

    /// Begins, and doesn't wait for it.
    init(to process: Int32, log: String) throws {
      self.log = log
      try? FileManager.default.removeItem(atPath: log)
      strace.executableURL = URL(fileURLWithPath: "/usr/bin/strace")
      strace.arguments = ["-f", "-s", "4096", "-o", log, "-p", "\(process)"]
      strace.standardError = errors
      try strace.run()
    }

    /// It says so once it is attached.
    func waitUntilAttached() {
      var said = Data()
      while !String(decoding: said, as: UTF8.self).contains("attached") {
        let more = errors.fileHandleForReading.availableData
        guard !more.isEmpty else { return }
        said += more
      }
    }

    /// All calls, once the process has ended. `renamed`: as in `StraceLog`.
    func calls(renamed: KeyValuePairs<String, String> = [:]) -> [StraceLog.Call] {
      _ = errors.fileHandleForReading.readDataToEndOfFile()
      strace.waitUntilExit()
      return StraceLog(Oracle.text(of: log), renamed: renamed).calls
    }
  }

  static func text(of log: String) -> String {
    (try? String(decoding: Data(contentsOf: URL(fileURLWithPath: log)), as: UTF8.self)) ?? ""
  }
}
