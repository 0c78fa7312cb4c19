import CTestSupport
public import Foundation
import Glibc

/// A program that a test runs; used as Foundation's `Process` is.
///
/// Foundation's leaves a socket of its own open in whatever another thread starts at that moment, and learns of a program's
/// end only when all of these have ended as well: two tests with services can wait for each other for ever. This one gives a
/// program its three standard descriptors and nothing else, and waits for it with waitid(2).
///
/// A program is the first of a process group of its own. What is set before `run()` must not be changed after it; everything
/// else may be used on any thread.
public final class TestProcess: @unchecked Sendable {
  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }

  public enum TerminationReason: Sendable {
    case exit
    case uncaughtSignal
  }

  public var executableURL: URL?
  public var arguments: [String]?
  /// nil: that of this process.
  public var environment: [String: String]?
  /// A `Pipe`, whose other end is kept and whose own is closed here, or a `FileHandle`; nil: what this process has.
  public var standardInput: Any?
  public var standardOutput: Any?
  public var standardError: Any?

  private let condition = NSCondition()
  private var process: pid_t = 0
  /// As waitpid(2) has it; nil: hasn't ended.
  private var status: Int32?

  public init() {}

  /// Runs `executable` with `arguments`.
  public static func run(_ executable: URL, arguments: [String]) throws -> TestProcess {
    let process = TestProcess()
    process.executableURL = executable
    process.arguments = arguments
    try process.run()
    return process
  }

  public func run() throws {
    guard let program = executableURL?.path else { throw Failure(description: "no program") }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    var given: [FileHandle] = []
    // Beyond the numbers that they replace, so that none is overwritten before it is copied.
    let streams: [(Any?, Int32)] = [(standardInput, 0), (standardOutput, 1), (standardError, 2)]
    var copies: [Int32] = []
    defer { for copy in copies { close(copy) } }
    for (stream, number) in streams {
      let source: Int32
      switch stream {
      case let pipe as Pipe:
        let end = number == 0 ? pipe.fileHandleForReading : pipe.fileHandleForWriting
        given.append(end)
        source = end.fileDescriptor
      case let handle as FileHandle where handle === FileHandle.nullDevice:
        posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
        continue
      case let handle as FileHandle: source = handle.fileDescriptor
      default: continue
      }
      let copy = fcntl(source, F_DUPFD_CLOEXEC, 10)
      guard copy >= 0 else { throw Failure(description: "dup: \(String(cString: strerror(errno)))") }
      copies.append(copy)
      posix_spawn_file_actions_adddup2(&actions, copy, number)
    }
    test_spawn_close_from(&actions, 3)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK))
    posix_spawnattr_setpgroup(&attributes, 0)
    // Threads of libdispatch, and those that they start, have signals blocked.
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)

    var words = ([program] + (arguments ?? [])).map { strdup($0) } + [nil]
    var variables = environment.map { $0.map { strdup("\($0.key)=\($0.value)") } + [nil] }
    defer { for word in words + (variables ?? []) { free(word) } }
    var number: pid_t = 0
    let code =
      variables == nil
      ? posix_spawn(&number, program, &actions, &attributes, &words, environ)
      : posix_spawn(&number, program, &actions, &attributes, &words, &variables!)
    guard code == 0 else { throw Failure(description: "\(program): \(String(cString: strerror(code)))") }
    for end in given { try? end.close() }
    process = number
    // Ends are waited for at once, as a caller that never asks leaves no zombie then.
    Thread.detachNewThread { [self] in waitForEnd() }
  }

  private func waitForEnd() {
    var information = siginfo_t()
    while waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
    condition.withLock {
      var value: Int32 = 0
      while waitpid(process, &value, 0) < 0, errno == EINTR {}
      status = value
      condition.broadcast()
    }
  }

  public var processIdentifier: pid_t { process }

  public var isRunning: Bool { condition.withLock { process != 0 && status == nil } }

  public func waitUntilExit() {
    condition.withLock { while process != 0, status == nil { condition.wait() } }
  }

  public func interrupt() { send(SIGINT) }

  public func terminate() { send(SIGTERM) }

  /// Not to a process that has ended: its number may be another's by then.
  private func send(_ signal: Int32) {
    condition.withLock { if process != 0, status == nil { kill(process, signal) } }
  }

  private var ended: Int32 {
    guard let status = condition.withLock({ status }) else { preconditionFailure("\(process) hasn't ended") }
    return status
  }

  public var terminationReason: TerminationReason { ended & 0x7f == 0 ? .exit : .uncaughtSignal }

  /// The exit status, or the signal's number.
  public var terminationStatus: Int32 { ended & 0x7f == 0 ? ended >> 8 & 0xff : ended & 0x7f }
}
