internal import ServiceMachines
internal import ServiceProtocol

/// The runs of extensions that are under way, by number.
final class RunTable {
  private(set) var runs: [Int64: ActiveRun] = [:]

  subscript(number: Int64) -> ActiveRun? {
    _read { yield runs[number] }
    _modify { yield &runs[number] }
  }

  var isEmpty: Bool { runs.isEmpty }

  /// Has a run called; its answer is awaited.
  func send(_ command: ExtensionRun.Command, number: Int64, to run: Int64) {
    runs[run]?.calls.insert(number)
    runs[run]?.run.send(command)
  }

  /// Of each kind and download, one is on its way at most: the extension may be at work with something else.
  func send(_ notice: ActiveRun.Notice, _ command: ExtensionRun.Command, to run: Int64) {
    if runs[run]?.notices.insert(notice).inserted == true { runs[run]?.run.send(command) }
  }

  /// Apps whose extension may look at files now.
  var apps: [String] { runs.values.map(\.app) }
}
