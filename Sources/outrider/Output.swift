internal import AssetModel
internal import Basics
internal import Foundation
internal import Glibc
internal import HostProtocol
internal import LinuxSystem
internal import PluginHost
internal import PolicyLab
internal import Sandbox
internal import Synchronization

/// What people read: results on standard output, everything else on standard error.
enum Output {
  static func line(_ text: String) {
    if let code = write("\(text)\n", to: STDOUT_FILENO) {
      failure.withLock { $0 = $0 ?? SystemCallError("write", code: code, subject: "standard output") }
    }
  }

  static func error(_ text: String) { note("outrider: \(Printable.text(text, limit: 1000))") }

  /// Where standard error takes nothing, the error can't be reported.
  static func note(_ text: String) { _ = write("\(text)\n", to: STDERR_FILENO) }

  /// What a terminal obeys, drawn over and over. One that has gone away takes nothing, which is no reason to end.
  static func draw(_ text: String, to descriptor: Int32 = STDERR_FILENO) { _ = write(text, to: descriptor) }

  /// Whether the command line asks for one JSON object. Before it is parsed, or where it can't be, nothing else tells.
  static let isJSON = Arguments.words.prefix { $0 != "--" }.contains("--json")
  private static let hasPrintedJSON = Atomic(false)

  /// What a command prints with `--json` that ended without a result. Nothing where it has printed one.
  static func jsonFailure(_ status: Int32, _ message: String) {
    struct Report: Encodable {
      struct Body: Encodable { var message: String, status: Int32 }
      var error: Body
    }
    guard isJSON, !hasPrintedJSON.load(ordering: .relaxed) else { return }
    // A message of the command line's parser has several lines, which stay lines.
    let lines = message.split(separator: "\n", maxSplits: 20, omittingEmptySubsequences: false)
    let shown = lines.map { Printable.text(String($0), limit: 1000) }.joined(separator: "\n")
    jsonLine(Report(error: .init(message: shown, status: status)), isLast: true)
  }

  /// One of several objects, each on a line of its own. The last one is the command's result.
  static func jsonLine(_ value: some Encodable, isLast: Bool) {
    if isLast { hasPrintedJSON.store(true, ordering: .relaxed) }
    guard let data = try? lineEncoder.withLock({ try $0.encode(value) }) else { return }
    line(JSONText.escaped(String(decoding: data, as: UTF8.self)))
  }

  private static let lineEncoder = Mutex(
    {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      return encoder
    }())

  static func json(_ value: some Encodable) throws {
    hasPrintedJSON.store(true, ordering: .relaxed)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    line(JSONText.escaped(String(decoding: try encoder.encode(value), as: UTF8.self)))
  }

  /// The first result that standard output didn't take.
  static let failure = Mutex<SystemCallError?>(nil)
  /// Whether there is one: a command that goes on for long has no reason to. `Exit.leave` says so.
  static var hasLostResult: Bool { failure.withLock { $0 != nil } }

  /// All of it, also to a pipe that others made non-blocking. Returns an errno value.
  private static func write(_ text: String, to descriptor: Int32) -> Int32? {
    var text = text
    return text.withUTF8 { write(UnsafeRawBufferPointer($0), to: descriptor) }
  }

  static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32? {
    var rest = bytes
    while !rest.isEmpty {
      let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
      if count >= 0 {
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      } else if errno == EAGAIN {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&wanted, 1, -1)
      } else if errno != EINTR {
        return errno
      }
    }
    return nil
  }

  static func result(_ result: RunnerMessage.CallResult) {
    line(CallWords.text(of: result.value))
    for output in result.outputs { line(CallWords.text(of: output)) }
  }

  static func downloads(_ verdict: DownloadRules.Verdict) {
    let rows = verdict.accepted.map { download in
      [
        Printable.text(download.identifier, limit: 40), download.isEssential ? "essential" : "",
        "\(download.priority)", download.fileSize.map { "\($0)" } ?? "?", Printable.text(download.url, limit: 70),
      ]
    }
    table(["IDENTIFIER", "", "PRIORITY", "BYTES", "URL"], rows)
    line(
      "\(verdict.accepted.count) downloads" + (verdict.rejected.isEmpty ? "" : ", \(verdict.rejected.count) rejected"))
    for rejected in verdict.rejected {
      line(
        "  rejected \(Printable.text(rejected.identifier, limit: 60)): \(rejected.code), \(Printable.text(rejected.reason))"
      )
    }
  }

  static func table(_ head: [String], _ rows: [[String]]) {
    let widths = head.indices.map { column in ([head] + rows).map { $0[column].count }.max() ?? 0 }
    for row in rows.isEmpty ? [] : [head] + rows {
      let cells = zip(row, widths).map { $0 + String(repeating: " ", count: max($1 - $0.count, 0)) }
      var text = cells.joined(separator: "  ")
      while text.hasSuffix(" ") { text.removeLast() }
      line(text)
    }
  }

  /// Outcome, usage against each limit, what was tried and said. Nothing of it is the command's result, so it goes to
  /// standard error.
  static func report(_ report: RunReport, _ places: StackPlaces, _ policy: Policy, _ options: SandboxOptions) {
    let limits = LimitsText(policy)
    let (kind, advice) = (report.outcome.kind.rawValue, OutcomeAdvice.detail(of: report, policy.limits, options))
    let detail = places.readable(advice)
    note(detail.isEmpty ? kind : "\(kind): \(detail)")
    for line in places.lines { note("  \(line)") }
    let usage = report.usage
    note(
      String(
        format: "wall %.1f ms of %@, cpu %.1f ms of %@, memory %d KiB of %@, wake %.1f ms", usage.wallSeconds * 1e3,
        limits.wall, usage.cpuSeconds * 1e3, limits.cpu, usage.peakMemoryBytes >> 10, limits.memory,
        usage.wakeSeconds * 1e3)
        + (policy.processes > 0 ? ", processes \(usage.peakProcesses) of \(policy.processes)" : ""))
    for status in report.statuses where status.status != 0 {
      note("\(status.entryPoint) returned status \(status.status)")
    }
    for row in report.connections {
      note(
        "\(row.failed < row.count ? "connected to" : "no connection to") \(row.target)"
          + (row.count > 1 ? " × \(row.count)" : "")
          + ": \(row.sent) bytes sent, \(row.received) received"
          + (row.failed > 0 ? "; \(row.failed) failed, the last: \(Printable.text(row.failure, limit: 200))" : ""))
    }
    var (remedies, cut) = (0, 0)
    var last = ""
    for denial in report.denials {
      let target = denial.target.isEmpty ? "" : "(\(denial.target))"
      note(
        "denied by \(denial.wall): \(denial.operation)\(target)" + (denial.count > 1 ? " × \(denial.count)" : "")
          + (denial.mayHaveChanged ? " (another thread may have changed it)" : ""))
      // Once for those that follow each other.
      let remedy = Remedy(for: denial, under: policy)
      guard remedy.text != last else { continue }
      last = remedy.text
      guard remedies < maxRemedies else {
        cut += 1
        continue
      }
      remedies += 1
      for line in remedy.paragraph { note(Printable.text(line, limit: 4400)) }
    }
    if cut > 0 { note("… what helps with \(cut == 1 ? "1 other" : "\(cut) others") isn't shown: --json has all of it") }
    if report.droppedDenials > 0 { note("… and \(report.droppedDenials) other denied calls") }
    for entry in report.log {
      note("log \(entry)")
    }
    if report.droppedLogLines > 0 {
      let lines = report.droppedLogLines == 1 ? "1 line" : "\(report.droppedLogLines) lines"
      note(
        "… and \(lines) of log beyond the limit, \(report.droppedLogBytes) bytes; policy: limits: {logBytes: \(max(policy.limits.logBytes >> 9, 1))KiB}"
      )
    }
    guard report.isSandboxed else { return note("no walls: --no-sandbox") }
    let missing = report.walls.filter { $0.value.state != .full }.sorted { $0.key.rawValue < $1.key.rawValue }
    for (wall, state) in missing { note("wall \(wall.rawValue) is \(state.state.rawValue): \(state.detail)") }
  }

  private static let maxRemedies = 8
}

struct LimitsText {
  var wall: String
  var cpu: String
  var memory: String
}
