internal import AssetModel
internal import Foundation
internal import LinuxSystem
internal import PluginHost
internal import PolicyLab
internal import Sandbox
internal import Synchronization

/// Prints system calls on a thread of its own: the thread that answers them, and keeps the deadlines, doesn't wait for a terminal.
final class TracePrinter: Sendable {
  /// Events that may wait to be printed; those beyond are counted.
  private static let maxWaiting = 16_384

  private struct State {
    var waiting: [SystemCallTrace.Event] = []
    var dropped = 0
    var isOver = false
    /// The first line that the file didn't take; those after it aren't written.
    var failure: Int32?
  }

  private let filter: TraceFilter
  private let format: TraceOptions.Format
  private let policy: Policy
  private let file: FileHandle?
  private let output: String?
  private let state = Mutex(State())
  private let wake = DispatchSemaphore(value: 0)
  private let done = DispatchSemaphore(value: 0)

  init(_ filter: TraceFilter, format: TraceOptions.Format, output: String?, policy: Policy) throws {
    (self.filter, self.format, self.policy, self.output) = (filter, format, policy, output)
    if let output {
      // Not waiting for a process that reads from a pipe of that name.
      let descriptor = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0o644)
      guard descriptor >= 0 else {
        let why = errno == ENXIO ? "is a pipe that no process reads from" : SystemCallError.message(errno)
        throw Failure(73, "--trace-output \(output): \(why)")
      }
      _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK)
      file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    } else {
      file = nil
    }
    Thread.detachNewThread { [self] in printAll() }
  }

  var trace: SystemCallTrace { SystemCallTrace(calls: filter.calls) { [self] in receive($0) } }

  private func receive(_ event: SystemCallTrace.Event) {
    guard filter.shows(event) else { return }
    state.withLock {
      if $0.waiting.count < Self.maxWaiting { $0.waiting.append(event) } else { $0.dropped += 1 }
    }
    wake.signal()
  }

  /// Everything that has been received is printed. Once is enough.
  func end() {
    let isFirst = state.withLock { state in
      defer { state.isOver = true }
      return !state.isOver
    }
    guard isFirst else { return }
    wake.signal()
    done.wait()
  }

  /// After the end: leaves with the status of lost output where the file didn't take all of it and `status` says nothing else.
  func leaveIfLost(_ status: Int32) {
    guard let output, let code = state.withLock({ $0.failure }) else { return }
    let message =
      "--trace-output \(output): \(SystemCallError.message(code)); system calls after that are missing there"
    Output.error(Printable.text(message, limit: 4400))
    Exit.leave(status == 0 ? Exit.lostOutput : status)
  }

  private func printAll() {
    while true {
      wake.wait()
      let (events, isOver, dropped) = state.withLock { state in
        defer { state.waiting = [] }
        return (state.waiting, state.isOver, state.dropped)
      }
      for event in events { write(format == .json ? json(event) : text(event)) }
      guard isOver else { continue }
      if dropped > 0 { Output.note("… and \(dropped) system calls that came faster than they could be shown") }
      _ = done.signal()
      return
    }
  }

  private func write(_ line: String) {
    guard let file else { return Output.note(line) }
    guard state.withLock({ $0.failure == nil }) else { return }
    var text = line + "\n"
    let failure = text.withUTF8 { Output.write(UnsafeRawBufferPointer($0), to: file.fileDescriptor) }
    if let failure { state.withLock { $0.failure = failure } }
  }

  // MARK: Lines

  private func text(_ event: SystemCallTrace.Event) -> String {
    let call = "\(event.name)(\(event.arguments.joined(separator: ", ")))"
    let note = event.mayHaveChanged ? " (another thread may have changed it)" : ""
    let line = event.grant.flatMap(policy.line(for:)).map { "by policy: \($0)" }
    // A rule is named by what is to be removed.
    let limit = event.denial.flatMap { $0.rule == nil ? policy.line(refusing: $0) : nil }.map { "by policy: \($0)" }
    let remedy = [line, limit, remedy(event)].compactMap(\.self).map { "  \($0)" }.joined()
    return String(format: "%10.6f ", event.time / .seconds(1))
      + Printable.text("\(event.thread) \(call) = \(verdict(event))\(note)\(remedy)", limit: 9000)
  }

  private func verdict(_ event: SystemCallTrace.Event) -> String {
    switch event.verdict {
    case .passed: "to the kernel"
    case .granted: "granted"
    case .refused(let wall): "refused by \(wall)"
    case .denied(let wall, let error): "denied by \(wall): \(error)"
    case .ended(let wall): "ended by \(wall)"
    }
  }

  private func remedy(_ event: SystemCallTrace.Event) -> String? {
    event.denial.map { Remedy(for: $0, under: policy).text }
  }

  private struct Line: Encodable {
    var seconds: Double
    var thread: UInt32
    var call: String
    var arguments: [String]
    var paths: [String]
    var verdict: String
    var wall: String?
    var error: String?
    var grantedBy: String?
    var refusedBy: String?
    var policy: String?
    var exposes: String?
    var mayHaveChanged: Bool
  }

  private func json(_ event: SystemCallTrace.Event) -> String {
    var line = Line(
      seconds: event.time / .seconds(1), thread: event.thread, call: event.name, arguments: event.arguments,
      paths: event.paths, verdict: "passed", mayHaveChanged: event.mayHaveChanged)
    switch event.verdict {
    case .passed: break
    case .granted: line.verdict = "granted"
    case .refused(let wall): (line.verdict, line.wall) = ("refused", wall)
    case .denied(let wall, let error): (line.verdict, line.wall, line.error) = ("denied", wall, error)
    case .ended(let wall): (line.verdict, line.wall) = ("ended", wall)
    }
    line.grantedBy = event.grant.flatMap(policy.line(for:))
    if let denial = event.denial {
      line.refusedBy = policy.line(refusing: denial)
      let remedy = Remedy(for: denial, under: policy)
      (line.policy, line.exposes) = (remedy.line, remedy.words)
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(line)).map { JSONText.escaped(String(decoding: $0, as: UTF8.self)) } ?? "{}"
  }
}
