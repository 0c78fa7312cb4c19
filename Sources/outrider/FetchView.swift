internal import AssetModel
internal import Downloads
internal import Foundation
internal import LinuxSystem
internal import Synchronization

/// What a person or a program sees of a fetch: a bar per file and a total on a terminal, plain lines elsewhere, one object
/// with `--json`. Everything but results goes to standard error.
final class FetchView: Sendable {
  private struct Row: Encodable {
    /// nil: it never became a download.
    var id: Int64?
    var url: String
    var path: String?
    var state: String
    var bytes: Int64
    /// Why it failed, or why it doesn't move.
    var reason: String?
    var detail: String?
    /// When a wait ends by itself.
    var until: String?
  }

  private enum Outcome: String { case open, finished, failed, cancelled }

  /// What is kept of each of perhaps very many.
  private struct Line {
    var id: JobID?
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
    var wait: Wait?
    /// Asked for, though nothing has come yet.
    var isUnderWay = false
  }

  private struct Wait {
    var explanation: Explanation
    var end: Date?
  }

  private struct State {
    var lines: [Line] = []
    var places: [JobID: Int32] = [:]
    var moving: [JobID: Moving] = [:]
    /// By the place of their line.
    var failures: [Int: TransferFailure] = [:]
    /// What stops downloads, as it was told, without how much is free.
    var told: Set<[String: String]> = []
    var screen = FetchScreen()
    var isOver = false
    var done = 0
    /// Of all lines.
    var bytes: Int64 = 0
    /// Those whose number was told.
    var named: Set<JobID> = []
    /// When a line last said how far it is, where no terminal shows it.
    var toldTotal = ContinuousClock.now

    /// One line for all.
    var total: String {
      let rate = moving.values.reduce(0) { $0 + ($1.progress?.bytesPerSecond ?? 0) }
      let start = "\(done) of \(lines.count) files, \(FetchWords.size(bytes))"
      let speed = "\(FetchWords.size(Int64(rate)))/s"
      guard let rest else { return "\(start), \(speed)" }
      let left = FetchWords.timeLeft(rest, at: rate).map { ", \($0)" } ?? ""
      return "\(start) of \(FetchWords.size(bytes + rest)), \(speed)\(left)"
    }

    /// Bytes that are still to come, once all that aren't done have said how many they are.
    private var rest: Int64? {
      let totals = moving.values.compactMap { moving in
        moving.progress.flatMap { progress in progress.total.map { $0 - progress.received } }
      }
      return !totals.isEmpty && done + totals.count == lines.count ? totals.reduce(0, +) : nil
    }

    subscript(id: JobID) -> Line? { places[id].map { lines[Int($0)] } }

    mutating func add(_ line: Line) {
      if let id = line.id { places[id] = Int32(lines.count) }
      lines.append(line)
      bytes += line.bytes
      if line.outcome != .open { done += 1 }
    }

    mutating func end(_ id: JobID, _ outcome: Outcome, bytes: Int64? = nil, path: String? = nil) {
      guard let place = places[id].map({ Int($0) }) else { return }
      moving[id] = nil
      done += 1
      lines[place].outcome = outcome
      lines[place].path = path
      if let bytes { set(bytes, place) }
    }

    mutating func progress(_ id: JobID, _ progress: DownloadProgress) {
      guard let place = places[id] else { return }
      set(progress.received, Int(place))
      moving[id] = Moving(progress: progress)
    }

    private mutating func set(_ count: Int64, _ place: Int) {
      bytes += count - lines[place].bytes
      lines[place].bytes = count
    }
  }

  private let isJSON: Bool
  private let isTerminal: Bool
  private let advice: FetchAdvice
  private let state = Mutex(State())

  init(isJSON: Bool, advice: FetchAdvice) {
    self.isJSON = isJSON
    self.advice = advice
    isTerminal = isatty(STDERR_FILENO) == 1 && !isJSON
  }

  var hasFailures: Bool { state.withLock { !$0.failures.isEmpty } }

  /// All that this command is about.
  var jobs: [JobID] { state.withLock { $0.lines.compactMap(\.id) } }

  /// Those that don't move, with why.
  var waiting: [(JobID, Explanation)] {
    state.withLock { $0.moving.compactMap { id, moving in moving.wait.map { (id, $0.explanation) } } }
  }

  func add(_ id: JobID, _ name: String, _ url: String) {
    state.withLock { $0.add(Line(id: id, name: name, url: url)) }
  }

  /// One that nothing was done about: the command was interrupted before.
  func postpone(_ name: String, _ url: String) {
    state.withLock { $0.add(Line(name: name, url: url)) }
  }

  /// One that fails before it begins.
  func refuse(_ name: String, _ url: String, _ failure: TransferFailure) {
    state.withLock { state in
      state.failures[state.lines.count] = failure
      state.add(Line(name: name, url: url, outcome: .failed))
    }
    tell(failure, of: url)
  }

  private func tell(_ failure: TransferFailure, of url: String) {
    erase()
    let shown = (try? ParsedURL(url))?.redacted ?? url
    Output.error("\(Printable.text(shown)): \(failure.detail) (\(failure.reason.rawValue))")
  }

  /// `id`: the download that brought it; nil: something else did.
  func alreadyComplete(_ id: JobID?, _ specification: DownloadSpecification, bytes: Int64) {
    let path = "\(specification.directory)/\(specification.fileName)"
    let isKept = isJSON || isTerminal
    state.withLock { state in
      state.add(
        Line(
          id: id, name: specification.fileName, url: specification.url, outcome: .finished, bytes: bytes,
          path: isKept ? path : nil))
    }
    if !isJSON { Output.line(path) }
  }

  func show(_ event: DownloadEvent) {
    switch event {
    case .started(let id):
      let isFirst = state.withLock { state in
        state.moving[id]?.note = nil
        if isTerminal { state.moving[id, default: Moving()].isUnderWay = true }
        // Of very many, a line for each that ends is enough.
        return state.lines.count <= Self.maxNamed && state.named.insert(id).inserted
      }
      // On a terminal its row says so.
      if isFirst, !isTerminal { say(id, "begins") }
    case .progress(let id, let progress):
      state.withLock { $0.progress(id, progress) }
      tellTotal()
    case .restarted(let id, let reason):
      let name = state.withLock { $0[id]?.name ?? "" }
      if isTerminal {
        tell("\(Printable.text(name)) starts again: \(reason)")
      } else {
        say(id, "starts again: \(reason)")
      }
    case .waiting(let id, let explanation):
      // What stops it ends when somebody makes room, not at a time. It is looked at again while others move, and may stop
      // all of them: the same is told once, however the free space changes meanwhile.
      let text = FetchWords.wait(explanation)
      let stops = explanation.code == .disk || explanation.code == .volume
      let end = stops ? nil : explanation.endsIn.map { Date(timeIntervalSinceNow: $0) }
      let subject = explanation.data.filter { $0.key != "free" }
      let isNews = state.withLock { state in
        let before = state.moving[id]?.wait?.explanation.code
        state.moving[id, default: Moving()].wait = Wait(explanation: explanation, end: end)
        return !stops || before != explanation.code && state.told.insert(subject).inserted
      }
      if isNews || isTerminal { say(id, text) }
    case .finished(let id, let file):
      let isKept = isJSON || isTerminal
      state.withLock { $0.end(id, .finished, bytes: file.size, path: isKept ? file.path : nil) }
      if !isKept { Output.line(file.path) }
    case .failed(let id, var failure):
      failure.detail = advice.detail(of: failure)
      let url = state.withLock { state in
        state.end(id, .failed)
        if let place = state.places[id] { state.failures[Int(place)] = failure }
        return state[id]?.url ?? ""
      }
      tell(failure, of: url)
    case .paused(let id): state.withLock { $0.moving[id, default: Moving()].note = "paused" }
    case .cancelled(let id): state.withLock { $0.end(id, .cancelled) }
    case .note(_, let text): tell(text)
    case .volume(.low(let directory, let free)):
      tell("\(Printable.text(directory)): only \(FetchWords.size(free)) are free on its volume")
    case .volume(.failing(let directory, let code)):
      tell("\(Printable.text(directory)): its volume fails: \(SystemCallError.message(code))")
    case .volume(.short), .volume(.plenty), .disposition: break
    }
    draw()
  }

  /// In logs a long fetch shows that it moves.
  private func tellTotal() {
    guard !isTerminal, !isJSON else { return }
    let total = state.withLock { state -> String? in
      guard ContinuousClock.now - state.toldTotal >= Self.totalInterval else { return nil }
      state.toldTotal = .now
      return state.total
    }
    if let total { Output.note(total) }
  }

  private static let totalInterval: Duration = .seconds(30)

  private func tell(_ text: String) {
    erase()
    if !isJSON { Output.note(text) }
  }

  private func say(_ id: JobID, _ text: String) {
    if isTerminal { state.withLock { $0.moving[id, default: Moving()].note = text } }
    guard !isTerminal, !isJSON else { return }
    let name = state.withLock { $0[id]?.name ?? "" }
    Output.note("\(Printable.text(name)) (download \(id)) \(text)")
  }

  // MARK: The terminal

  /// Rows that fit most terminals; the rest is in the total.
  private static let maxRows = 20

  /// The terminal has another size.
  func redraw() {
    if state.withLock({ $0.screen.isDrawn }) { draw() }
  }

  /// Nothing is drawn any more, and what was is removed.
  func leaveTerminal() {
    erase()
    state.withLock { $0.isOver = true }
  }

  private func draw() {
    guard isTerminal else { return }
    let (columns, height) = FetchRow.terminal()
    state.withLock { state in
      guard !state.isOver else { return }
      let rows = Self.rows(state, columns: columns, height: height)
      // Within the lock: two frames at once would be none.
      Output.draw(state.screen.draw(rows))
    }
  }

  private static func rows(_ state: State, columns: Int, height: Int) -> [String] {
    // The last column stays empty: there some terminals go to the next row by themselves.
    let room = columns - 1
    // In the order in which they were named.
    let moving = state.moving.filter { $0.value.progress != nil || $0.value.note != nil || $0.value.isUnderWay }
      .sorted { (state.places[$0.key] ?? 0) < (state.places[$1.key] ?? 0) }
      .prefix(max(0, min(maxRows, height - 2)))
    let names = moving.map { state[$0.key]?.name ?? "" }
    let width = names.map { FetchRow.width(Printable.text($0)) }.max()
    var rows = zip(names, moving).map { name, moving in
      let note = moving.value.note ?? (moving.value.progress == nil ? "begins" : nil)
      return FetchRow.text(name, moving.value.progress, note: note, nameWidth: width, columns: room)
    }
    if rows.isEmpty || state.lines.count > 1 { rows.append(FetchRow.fit(state.total, room)) }
    return rows
  }

  private func erase() {
    guard isTerminal else { return }
    state.withLock { Output.draw($0.screen.erase()) }
  }

  // MARK: The end

  func finish(status: Int32, left: Int) {
    leaveTerminal()
    if isJSON {
      struct Report: Encodable {
        var downloads: [Row]
        var status: Int32
      }
      let rows = state.withLock { state in state.lines.indices.map { Self.row($0, state) } }
      try? Output.json(Report(downloads: rows, status: status))
      if left > 0 {
        let why = rows.first { $0.state == Outcome.open.rawValue && $0.detail != nil }?.detail
        Output.note(Self.left(left, of: rows.count) + (why.map { ": \($0)" } ?? ""))
      }
      return
    }
    if isTerminal { state.withLock { for line in $0.lines { if let path = line.path { Output.line(path) } } } }
    guard left > 0 else { return }
    state.withLock { state in
      Output.note(Self.left(left, of: state.lines.count))
      let open = state.lines.lazy.filter { $0.outcome == .open }
      for line in open.prefix(Self.maxNamed) {
        // Elsewhere the reason was a line of its own; here it was drawn over.
        let wait = isTerminal ? line.id.flatMap { state.moving[$0]?.wait } : nil
        let why = wait.map { ", \(FetchWords.wait($0.explanation))" } ?? ""
        Output.note("  \(line.id.map { "download \($0): " } ?? "")\(Printable.text(line.name))\(why)")
      }
      if left > Self.maxNamed { Output.note("  and \(left - Self.maxNamed) others") }
    }
  }

  private static let maxNamed = 20

  private static func left(_ left: Int, of all: Int) -> String {
    "\(left) of \(all) downloads are left; the same command goes on where they are"
  }

  private static func row(_ place: Int, _ state: State) -> Row {
    let line = state.lines[place]
    var row = Row(
      id: line.id?.number, url: line.url, path: line.path, state: line.outcome.rawValue, bytes: line.bytes)
    if let failure = state.failures[place] {
      (row.reason, row.detail) = (failure.reason.rawValue, failure.detail)
    } else if let wait = line.id.flatMap({ state.moving[$0]?.wait }) {
      (row.reason, row.detail) = (wait.explanation.code.rawValue, FetchWords.wait(wait.explanation))
      row.until = wait.end?.formatted(.iso8601)
    }
    return row
  }
}
