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
    var state = "open"
    var bytes: Int64 = 0
    var reason: String?
    var detail: String?

    enum CodingKeys: CodingKey { case id, url, path, state, bytes, reason, detail }
  }

  private struct Line {
    var name: String
    var row: Row
    var progress: DownloadProgress?
    var note: String?
  }

  private struct State {
    var lines: [JobID: Line] = [:]
    var order: [JobID] = []
    var drawn = 0
  }

  private let isJSON: Bool
  private let isTerminal: Bool
  private let state = Mutex(State())

  init(isJSON: Bool) {
    self.isJSON = isJSON
    isTerminal = isatty(STDERR_FILENO) == 1 && !isJSON
  }

  var hasFailures: Bool { state.withLock { $0.lines.values.contains { $0.row.state == "failed" } } }

  func add(_ id: JobID, _ name: String, _ url: String) {
    state.withLock { state in
      state.lines[id] = Line(name: name, row: Row(id: id.number, url: url))
      state.order.append(id)
    }
  }

  func alreadyComplete(_ record: JobRecord) {
    add(record.id, record.specification.fileName, record.specification.url)
    let path = "\(record.specification.directory)/\(record.specification.fileName)"
    state.withLock { state in
      state.lines[record.id]?.row.state = "finished"
      state.lines[record.id]?.row.path = path
      state.lines[record.id]?.row.bytes = record.finalSize ?? 0
    }
    if !isJSON { Output.line(path) }
  }

  func show(_ event: DownloadEvent) {
    switch event {
    case .started(let id): change(id) { $0.note = nil }
    case .progress(let id, let progress):
      change(id) { line in
        line.progress = progress
        line.row.bytes = progress.received
      }
    case .restarted(let id, let reason): say(id, "starts again: \(reason)")
    case .waiting(let id, let explanation):
      say(id, Self.sentence(explanation))
    case .finished(let id, let file):
      change(id) { line in
        line.row.state = "finished"
        line.row.path = file.path
        line.row.bytes = file.size
        line.note = "complete"
        line.progress = DownloadProgress(
          received: file.size, durable: file.size, total: file.size, bytesPerSecond: line.progress?.bytesPerSecond ?? 0,
          connections: 0)
      }
      if !isJSON, !isTerminal { Output.line(file.path) }
    case .failed(let id, let failure):
      change(id) { line in
        line.row.state = "failed"
        line.row.reason = failure.reason.rawValue
        line.row.detail = failure.detail
        line.note = "failed"
      }
      erase()
      let url = state.withLock { $0.lines[id]?.row.url ?? "" }
      let shown = (try? ParsedURL(url))?.redacted ?? url
      Output.error("\(Printable.text(shown)): \(failure.detail) (\(failure.reason.rawValue))")
    case .paused(let id): change(id) { $0.note = "paused" }
    case .cancelled(let id): change(id) { $0.row.state = "cancelled" }
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
    change(id) { $0.note = text }
    guard !isTerminal, !isJSON else { return }
    let name = state.withLock { $0.lines[id]?.name ?? "" }
    Output.note("\(Printable.text(name)) (download \(id)) \(text)")
  }

  private func change(_ id: JobID, _ body: (inout Line) -> Void) {
    state.withLock { state in
      guard var line = state.lines[id] else { return }
      body(&line)
      state.lines[id] = line
    }
  }

  // MARK: The terminal

  /// Rows that fit most terminals; the rest is in the total.
  private static let mostRows = 12

  private func draw() {
    guard isTerminal else { return }
    let text = state.withLock { state -> String in
      let all = state.order.compactMap { state.lines[$0] }
      let moving = all.filter { $0.row.state == "open" && ($0.progress != nil || $0.note != nil) }
      var rows = moving.prefix(Self.mostRows).map(Self.bar)
      let done = all.count { $0.row.state != "open" }
      let bytes = all.reduce(0) { $0 + ($1.progress?.received ?? $1.row.bytes) }
      let rate = moving.reduce(0) { $0 + ($1.progress?.bytesPerSecond ?? 0) }
      rows.append("\(done) of \(all.count) files, \(Self.size(bytes)), \(Self.size(Int64(rate)))/s")
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

  private static func bar(_ line: Line) -> String {
    let name = Printable.text(line.name, limit: 28)
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
    let lines = state.withLock { state in state.order.compactMap { state.lines[$0] } }
    if isJSON {
      struct Report: Encodable {
        var downloads: [Row]
        var status: Int32
      }
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      if let data = try? encoder.encode(Report(downloads: lines.map(\.row), status: status)) {
        Output.line(String(decoding: data, as: UTF8.self))
      }
      return
    }
    if isTerminal { for line in lines { if let path = line.row.path { Output.line(path) } } }
    if left > 0 {
      Output.note("\(left) of \(lines.count) downloads are left; the same command goes on where they are")
      for line in lines where line.row.state == "open" {
        Output.note("  download \(line.row.id): \(Printable.text(line.name))")
      }
    }
  }
}
