internal import AssetModel
internal import Downloads
internal import Foundation
internal import LinuxSystem
internal import Synchronization

/// What a person or a program sees of a fetch: keeps the inventory, and prints what the renderer makes of the news.
/// Everything but results goes to standard error. Any thread may call it.
final class FetchView: Sendable {
  private struct State {
    var inventory: FetchInventory
    var renderer: any FetchRenderer
  }

  private let state: Mutex<State>
  private let isQuiet: Bool
  /// Standard output is for a file, and it has no path to show.
  private let hidesResults: Bool

  init(_ options: FetchOutputOptions, advice: FetchAdvice, hidesResults: Bool) {
    let renderer: any FetchRenderer =
      if options.json {
        FetchJSON()
      } else if Terminal.draws(on: STDERR_FILENO), !options.quiet {
        FetchTerminal { FetchRow.terminal() }
      } else {
        FetchLog(at: Date())
      }
    let inventory = FetchInventory(advice: advice, keepsPaths: type(of: renderer).keepsPaths)
    state = Mutex(State(inventory: inventory, renderer: renderer))
    isQuiet = options.quiet
    self.hidesResults = hidesResults
  }

  var hasFailures: Bool { state.withLock { !$0.inventory.failures.isEmpty } }

  /// All that this command is about.
  var jobs: [JobID] { state.withLock { $0.inventory.jobs } }

  /// Those that don't move, with why.
  var waiting: [(JobID, Explanation)] { state.withLock { $0.inventory.waiting } }

  func add(_ id: JobID?, _ name: String, _ url: String) { tell { $0.add(id, name, url) } }

  func refuse(_ name: String, _ url: String, _ failure: TransferFailure) { tell { $0.refuse(name, url, failure) } }

  func complete(_ id: JobID?, _ target: FetchPlan.Target, path: String, bytes: Int64) {
    tell { $0.complete(id, target.name, target.url, path: path, bytes: bytes) }
  }

  func show(_ event: DownloadEvent) { tell { $0.handle(event, at: Date()) } }

  func show(_ head: TracedHead) { tell { _ in .head(head) } }

  /// What the command says of itself, beside the downloads: to people, also where a program reads standard output.
  func say(_ text: String) { state.withLock { print($0.renderer.say(text)) } }

  func note(_ text: String, of job: JobID? = nil) { tell { _ in .note(job, text) } }

  func redraw() { state.withLock { print($0.renderer.redraw($0.inventory)) } }

  func leaveTerminal() { state.withLock { print($0.renderer.leave()) } }

  func finish(status: Int32, left: Int) {
    state.withLock { print($0.renderer.end($0.inventory, status: status, left: left)) }
  }

  private func tell(_ change: (inout FetchInventory) -> FetchNews?) {
    state.withLock { state in
      guard let news = change(&state.inventory) else { return }
      print(state.renderer.show(news, state.inventory, at: Date()))
    }
  }

  /// Within the lock: two frames at once would be none, and lines come in the order in which things happened.
  private func print(_ outputs: [FetchOutput]) {
    for output in outputs {
      switch output {
      case .result(let path): if !hidesResults { Output.line(path) }
      case .note(let text): if !isQuiet { Output.note(text) }
      case .error(let text): Output.error(text)
      case .draw(let text): Output.draw(text)
      case .object(let line): Output.jsonLine(line, isLast: line.status != nil)
      }
    }
  }
}
