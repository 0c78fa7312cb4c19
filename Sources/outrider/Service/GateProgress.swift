internal import AssetModel
internal import Glibc
internal import ServiceProtocol
internal import Synchronization

/// Waits until an app may be launched, and shows how far it is: one bar on a terminal, plain lines elsewhere.
final class GateProgress: Sendable {
  private struct State {
    var board: InstallBoard
    var screen = FetchScreen()
    var isOver = false
  }

  private let place: ServicePlace
  private let identifier: String
  private let isTerminal: Bool
  private let isQuiet: Bool
  private let state: Mutex<State>

  init(place: ServicePlace, app: AppSummary, isJSON: Bool) {
    self.place = place
    identifier = app.identifier
    isTerminal = Terminal.draws(on: STDERR_FILENO) && !isJSON
    isQuiet = isJSON
    state = Mutex(State(board: InstallBoard(app)))
  }

  /// A user who stops watching doesn't stop the installation.
  func sayOnInterrupt() {
    Interrupts.onInterrupt { [self] in
      erase()
      state.withLock { $0.isOver = true }
      let id = Printable.text(identifier)
      Output.note(
        "the service goes on with \(id): 'outrider apps \(id)' shows it, 'outrider installation cancel \(id)' ends it")
      Output.jsonFailure(130, "interrupted; the service goes on")
    }
  }

  /// - Throws: `Failure` 1 when the app is removed meanwhile.
  func wait() async throws -> AppSummary {
    if isTerminal { Interrupts.onWindowChange { [self] in draw() } }
    defer { erase() }
    show()
    let feed = ServiceFeed(
      place: place, app: identifier, questions: [.apps(app: identifier), .downloads(app: identifier)],
      restartsAfter: .seconds(2))
    for await item in feed.items() {
      switch item {
      case .snapshot(let replies):
        guard case .apps(let apps)? = replies.first, case .downloadList(let downloads)? = replies.last else {
          throw replies.first.map(ServiceOperator.unexpected) ?? ServiceOperator.noAnswer
        }
        state.withLock { $0.board.replace(apps.first { $0.identifier == identifier }, downloads) }
      case .change(let event): state.withLock { $0.board.change(event) }
      case .lost:
        erase()
        Output.note("the service has gone away; this goes on when it is back")
      case .failed(let error): throw error
      }
      let (isRemoved, isOpen, app, end) = state.withLock {
        ($0.board.isRemoved, $0.board.isOpen, $0.board.app, $0.board.end)
      }
      if isRemoved { throw Failure(1, "\(identifier) isn't installed any more: its installation was cancelled") }
      if isOpen {
        erase()
        if !isQuiet { Output.note(end) }
        return app
      }
      show()
    }
    throw Failure(
      70, "the service tells nothing more of \(identifier); 'outrider apps \(identifier)' says how far it is")
  }

  private func show() {
    if isTerminal { return draw() }
    guard !isQuiet, let line = state.withLock({ $0.board.line() }) else { return }
    Output.note(line)
  }

  private func draw() {
    let columns = FetchRow.terminal().columns
    state.withLock { state in
      guard !state.isOver else { return }
      Output.draw(state.screen.draw([state.board.row(columns: columns - 1)]))
    }
  }

  private func erase() {
    guard isTerminal else { return }
    state.withLock { Output.draw($0.screen.erase()) }
  }
}
