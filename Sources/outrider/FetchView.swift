internal import AssetModel
internal import Downloads
internal import Foundation
internal import LinuxSystem
internal import Synchronization

/// What a person or a program sees of a fetch: a bar per file and a total on a terminal, plain lines elsewhere, one object
/// with `--json`. Everything but results goes to standard error.
final class FetchView: Sendable {
  private struct Row: Encodable {
    var id: Int64
    var url: String
    var path: String?
    var state: String
    var bytes: Int64
    var reason: String?
    var detail: String?
  }

  private enum Outcome: String { case open, finished, failed, cancelled }

  /// What is kept of each of perhaps very many.
  private struct Line {
    var id: JobID
    var name: String
    var url: String
    var outcome = Outcome.open
    var bytes: Int64 = 0
    /// Where the file is; kept only where it is shown at the end.
    var path: String?
  }

  /// What is kept besides, of those that move or wait.
  private struct Moving {
    var progress: DownloadProgress?
    var note: String?
  }

  private struct State {
    var lines: [Line] = []
    var places: [JobID: Int32] = [:]
    var moving: [JobID: Moving] = [:]
    var failures: [JobID: TransferFailure] = [:]
    var drawn = 0
    var done = 0

    subscript(id: JobID) -> Line? { places[id].map { lines[Int($0)] } }

    mutating func add(_ line: Line) {
      places[line.id] = Int32(lines.count)
      lines.append(line)
      if line.outcome != .open { done += 1 }
    }

    mutating func end(_ id: JobID, _ outcome: Outcome, bytes: Int64? = nil, path: String? = nil) {
      guard let place = places[id].map({ Int($0) }) else { return }
      moving[id] = nil
      done += 1
      lines[place].outcome = outcome
      lines[place].path = path
      if let bytes { lines[place].bytes = bytes }
    }

    mutating func progress(_ id: JobID, _ progress: DownloadProgress) {
      guard let place = places[id] else { return }
      lines[Int(place)].bytes = progress.received
      moving[id, default: Moving()].progress = progress
    }
  }

  private let isJSON: Bool
  private let isTerminal: Bool
  private let state = Mutex(State())

  init(isJSON: Bool) {
    self.isJSON = isJSON
    isTerminal = isatty(STDERR_FILENO) == 1 && !isJSON
  }

  var hasFailures: Bool { state.withLock { !$0.failures.isEmpty } }

  func add(_ id: JobID, _ name: String, _ url: String) {
    state.withLock { $0.add(Line(id: id, name: name, url: url)) }
  }

  func alreadyComplete(_ record: JobRecord) {
    let path = "\(record.specification.directory)/\(record.specification.fileName)"
    let isKept = isJSON || isTerminal
    state.withLock { state in
      state.add(
        Line(
          id: record.id, name: record.specification.fileName, url: record.specification.url, outcome: .finished,
          bytes: record.finalSize ?? 0, path: isKept ? path : nil))
    }
    if !isJSON { Output.line(path) }
  }

  func show(_ event: DownloadEvent) {
    switch event {
    case .started(let id):
      state.withLock { $0.moving[id]?.note = nil }
    case .progress(let id, let progress): state.withLock { $0.progress(id, progress) }
    case .restarted(let id, let reason): say(id, "starts again: \(reason)")
    case .waiting(let id, let explanation):
      say(id, Self.sentence(explanation))
    case .finished(let id, let file):
      let isKept = isJSON || isTerminal
      state.withLock { $0.end(id, .finished, bytes: file.size, path: isKept ? file.path : nil) }
      if !isKept { Output.line(file.path) }
    case .failed(let id, let failure):
      state.withLock { state in
        state.end(id, .failed)
        state.failures[id] = failure
      }
      erase()
      let url = state.withLock { $0[id]?.url ?? "" }
      let shown = (try? ParsedURL(url))?.redacted ?? url
      Output.error("\(Printable.text(shown)): \(failure.detail) (\(failure.reason.rawValue))")
    case .paused(let id): state.withLock { $0.moving[id, default: Moving()].note = "paused" }
    case .cancelled(let id): state.withLock { $0.end(id, .cancelled) }
    case .note(_, let text): tell(text)
    case .volume(.low(let directory, let free)):
      tell("\(Printable.text(directory)): only \(Self.size(free)) are free on its volume")
    case .volume(.failing(let directory, let code)):
      tell("\(Printable.text(directory)): its volume fails: \(SystemCallError.message(code))")
    case .volume(.short), .volume(.plenty): break
    }
    draw()
  }

  private func tell(_ text: String) {
    erase()
    if !isJSON { Output.note(text) }
  }

  private static func sentence(_ explanation: Explanation) -> String {
    let data = explanation.data.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    let time = explanation.endsIn.map { String(format: " for %.0f s", $0) } ?? ""
    return "waits\(time): \(explanation.code.rawValue)\(data.isEmpty ? "" : " (\(data))")"
  }

  private func say(_ id: JobID, _ text: String) {
    if isTerminal { state.withLock { $0.moving[id, default: Moving()].note = text } }
    guard !isTerminal, !isJSON else { return }
    let name = state.withLock { $0[id]?.name ?? "" }
    Output.note("\(Printable.text(name)) (download \(id)) \(text)")
  }

  // MARK: The terminal

  /// Rows that fit most terminals; the rest is in the total.
  private static let mostRows = 12

  private func draw() {
    guard isTerminal else { return }
    let text = state.withLock { state -> String in
      // In the order in which they were named.
      let moving = state.moving.filter { $0.value.progress != nil || $0.value.note != nil }.sorted {
        (state.places[$0.key] ?? 0) < (state.places[$1.key] ?? 0)
      }
      var rows = moving.prefix(Self.mostRows).compactMap { id, moving in
        state[id].map { Self.bar($0.name, moving) }
      }
      let bytes = state.lines.reduce(0) { $0 + $1.bytes }
      let rate = moving.reduce(0) { $0 + ($1.value.progress?.bytesPerSecond ?? 0) }
      rows.append("\(state.done) of \(state.lines.count) files, \(Self.size(bytes)), \(Self.size(Int64(rate)))/s")
      defer { state.drawn = rows.count }
      return Self.up(state.drawn) + rows.map { "\u{1b}[2K\($0)\n" }.joined() + "\u{1b}[J"
    }
    FileHandle.standardError.write(Data(text.utf8))
  }

  private func erase() {
    guard isTerminal else { return }
    let text = state.withLock { state in
      defer { state.drawn = 0 }
      return Self.up(state.drawn) + "\u{1b}[J"
    }
    FileHandle.standardError.write(Data(text.utf8))
  }

  private static func up(_ lines: Int) -> String { lines > 0 ? "\u{1b}[\(lines)A\r" : "" }

  private static func bar(_ name: String, _ line: Moving) -> String {
    let name = Printable.text(name, limit: 28)
    let padded = name + String(repeating: " ", count: max(0, 29 - name.count))
    guard let progress = line.progress else { return padded + Printable.text(line.note ?? "", limit: 60) }
    let fraction = progress.total.map { $0 > 0 ? min(1, Double(progress.received) / Double($0)) : 1 }
    let filled = Int((fraction ?? 0) * 20)
    let bar = String(repeating: "█", count: filled) + String(repeating: "·", count: 20 - filled)
    let percent = fraction.map { String(format: "%3.0f %%", $0 * 100) } ?? "  ? %"
    let rate = "\(size(Int64(progress.bytesPerSecond)))/s"
    return "\(padded)\(bar) \(percent)  \(size(progress.received))  \(line.note ?? rate)"
  }

  private static func size(_ bytes: Int64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"]
    var value = Double(bytes)
    var unit = 0
    while value >= 1024, unit < units.count - 1 {
      value /= 1024
      unit += 1
    }
    return unit == 0 ? "\(bytes) B" : String(format: "%.1f %@", value, units[unit])
  }

  // MARK: The end

  func finish(status: Int32, left: Int) {
    erase()
    if isJSON {
      struct Report: Encodable {
        var downloads: [Row]
        var status: Int32
      }
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      let rows = state.withLock { state in
        state.lines.map { line in
          let failure = state.failures[line.id]
          return Row(
            id: line.id.number, url: line.url, path: line.path, state: line.outcome.rawValue, bytes: line.bytes,
            reason: failure?.reason.rawValue, detail: failure?.detail)
        }
      }
      if let data = try? encoder.encode(Report(downloads: rows, status: status)) {
        Output.line(String(decoding: data, as: UTF8.self))
      }
      return
    }
    if isTerminal { state.withLock { for line in $0.lines { if let path = line.path { Output.line(path) } } } }
    if left > 0 {
      state.withLock { state in
        Output.note("\(left) of \(state.lines.count) downloads are left; the same command goes on where they are")
        for line in state.lines where line.outcome == .open {
          Output.note("  download \(line.id): \(Printable.text(line.name))")
        }
      }
    }
  }
}
