internal import Glibc
internal import ServiceProtocol
internal import Synchronization

/// `outrider downloads --watch`: a table drawn over and over on a terminal, a line for each change elsewhere.
struct DownloadsWatch: Sendable {
  var place: ServicePlace
  var app: String?
  var isJSON: Bool

  func run() async throws {
    let view = LiveTable(isTerminal: !isJSON && Terminal.draws(on: STDOUT_FILENO))
    Interrupts.onInterrupt { view.leave() }
    if view.isTerminal { Interrupts.onWindowChange { view.draw() } }
    let drawing = Task {
      while !Task.isCancelled {
        // Progress comes more often than a person can read it.
        view.drawChanges()
        try await Task.sleep(for: .milliseconds(100))
      }
    }
    defer { drawing.cancel() }
    let feed = ServiceFeed(place: place, app: app, questions: [.downloads(app: app)])
    for await item in feed.items() {
      switch item {
      case .snapshot(let replies):
        guard case .downloadList(let downloads)? = replies.first else {
          throw replies.first.map(ServiceOperator.unexpected) ?? ServiceOperator.noAnswer
        }
        for line in view.update({ $0.replace(with: downloads) }) { try tell(line) }
      case .change(.download(let download)):
        for line in view.update({ $0.change(to: download) }) { try tell(line) }
      case .change(.appRemoved(let identifier)):
        _ = view.update {
          $0.remove(identifier)
          return []
        }
      case .change: break
      case .lost:
        view.note(
          "the service has gone away; this goes on when it is back (outrider service run, or any other command)")
      case .failed(let error):
        view.leave()
        throw error
      }
      if Output.failure.withLock({ $0 }) != nil { return }
    }
  }

  /// Where no terminal shows a table.
  private func tell(_ download: DownloadSummary) throws {
    if isJSON {
      try Output.jsonLine(download)
    } else if !Terminal.draws(on: STDOUT_FILENO) {
      Output.line(DownloadText.line(download))
    }
  }
}

/// The downloads that a view shows, and what of a change is worth a line.
struct DownloadBoard: Sendable {
  private(set) var downloads: [String: DownloadSummary] = [:]
  private(set) var order: [String] = []
  private var told: [String: Told] = [:]

  private struct Told: Sendable, Equatable {
    var state: String
    var urgency: String
    var waiting: String?
    /// Tenths of it.
    var tenth: Int?
  }

  private static func key(_ download: DownloadSummary) -> String { "\(download.app)/\(download.uniqueIdentifier)" }

  /// Returns those that differ from what was told.
  mutating func replace(with new: [DownloadSummary]) -> [DownloadSummary] {
    downloads = [:]
    order = []
    let before = told
    told = [:]
    return new.filter { download in
      let key = Self.key(download)
      told[key] = before[key]
      return !change(to: download).isEmpty
    }
  }

  mutating func change(to download: DownloadSummary) -> [DownloadSummary] {
    let key = Self.key(download)
    if downloads.updateValue(download, forKey: key) == nil { order.append(key) }
    let news = Told(
      state: download.state, urgency: download.class.rawValue, waiting: download.waiting?.code,
      tenth: DownloadText.percent(download).map { $0 / 10 })
    guard told.updateValue(news, forKey: key) != news else { return [] }
    return [download]
  }

  mutating func remove(_ app: String) {
    order.removeAll { downloads[$0]?.app == app }
    for (key, download) in downloads where download.app == app {
      downloads[key] = nil
      told[key] = nil
    }
  }

  /// Those that move first, then those that are stopped, then the rest, each in the order in which they came.
  func shown(_ count: Int) -> [DownloadSummary] {
    let all = order.compactMap { downloads[$0] }
    let moving = all.filter { $0.state == "downloading" }
    guard moving.count < count else { return Array(moving.prefix(count)) }
    let stopped = all.filter { ["waiting", "paused", "failed"].contains($0.state) }
    let rest = all.filter { !["downloading", "waiting", "paused", "failed"].contains($0.state) }
    return Array((moving + stopped + rest).prefix(count))
  }

  /// Drawn in the place of those before.
  func rows(columns: Int, height: Int) -> [String] {
    guard !downloads.isEmpty else { return ["there are no downloads"] }
    // A row for the titles, one for the rest, and one where the cursor may go.
    let room = max(1, height - 3)
    let shown = shown(room)
    var rows = DownloadText.table(shown).lines(width: columns - 1)
    let left = downloads.count - shown.count
    if left > 0 { rows.append(FetchRow.fit("and \(left) more", columns - 1)) }
    return rows
  }
}

/// Draws a board on the terminal at standard output.
final class LiveTable: Sendable {
  private struct State {
    var board = DownloadBoard()
    var screen = FetchScreen()
    var note: String?
    var isChanged = false
    var isOver = false
  }

  let isTerminal: Bool
  private let state = Mutex(State())

  init(isTerminal: Bool) { self.isTerminal = isTerminal }

  func update(_ change: (inout DownloadBoard) -> [DownloadSummary]) -> [DownloadSummary] {
    state.withLock { state in
      state.isChanged = true
      state.note = nil
      return change(&state.board)
    }
  }

  /// Until the next change.
  func note(_ text: String) {
    guard isTerminal else { return Output.note(text) }
    state.withLock { state in
      state.note = text
      state.isChanged = true
    }
  }

  func drawChanges() {
    if state.withLock({ $0.isChanged }) { draw() }
  }

  func draw() {
    guard isTerminal else { return }
    let (columns, height) = FetchRow.terminal(STDOUT_FILENO)
    state.withLock { state in
      guard !state.isOver else { return }
      state.isChanged = false
      var rows = state.board.rows(columns: columns, height: height)
      if let note = state.note { rows.append(FetchRow.fit(note, columns - 1)) }
      Output.draw(state.screen.draw(rows), to: STDOUT_FILENO)
    }
  }

  /// What was drawn last stays: it is what the user wanted to see.
  func leave() {
    guard isTerminal else { return }
    state.withLock { state in
      guard !state.isOver else { return }
      state.isOver = true
      let (columns, height) = FetchRow.terminal(STDOUT_FILENO)
      let erased = state.screen.erase()
      let rows = state.board.rows(columns: columns, height: height)
      Output.draw(erased + rows.map { $0 + "\r\n" }.joined(), to: STDOUT_FILENO)
    }
  }
}
