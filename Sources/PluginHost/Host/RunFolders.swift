internal import Glibc
internal import LinuxSystem
internal import Synchronization

/// The folders of runs whose callers name none: they go with their runs. Once one was wanted, the next is made ahead and by another
/// thread: on a disk that takes a thirtieth of a wake. Safe to use from any thread.
final class RunFolders: Sendable {
  private struct State {
    var byRun: [UInt64: String] = [:]
    var ready: String?
    var isWanted = false
    var isMaking = false
    var isClosed = false
  }

  private let state = Mutex(State())
  private let workers: WorkerThreads
  /// When this process began: with its id it names them.
  private let processStart = ProcessStart.time(of: getpid()) ?? 0

  init(workers: WorkerThreads) { self.workers = workers }

  /// Runs that have one.
  var runs: Set<UInt64> { state.withLock { Set($0.byRun.keys) } }

  /// The next run's; nil where that has to wait for it.
  var ready: String? { state.withLock(\.ready) }

  func has(_ run: UInt64) -> Bool { state.withLock { $0.byRun[run] != nil } }

  /// Makes the next one, unless it is there, or none was wanted yet.
  func prepare() {
    let isDue = state.withLock { state in
      guard state.isWanted, state.ready == nil, !state.isMaking, !state.isClosed else { return false }
      state.isMaking = true
      return true
    }
    guard isDue else { return }
    workers.submit { [self] in
      let made = try? Janitor.makeFolder(start: processStart)
      let isKept = state.withLock { state in
        state.isMaking = false
        guard !state.isClosed else { return false }
        state.ready = made
        return true
      }
      if !isKept, let made { Janitor.removeFolder(made) }
    }
  }

  /// The folder of a run, which nobody else has had.
  func take(for run: UInt64) throws(SystemCallError) -> String {
    let ready = state.withLock { state in
      state.isWanted = true
      return exchange(&state.ready, with: nil)
    }
    let folder: String
    if let ready, Janitor.isThere(ready) {
      folder = ready
    } else {
      // Somebody has tidied up since it was made, and its name may be another's.
      if let ready { Janitor.letGo(of: ready) }
      folder = try Janitor.makeFolder(start: processStart)
    }
    state.withLock { $0.byRun[run] = folder }
    return folder
  }

  /// Whether nothing is left of the run's folder. False where there is more to remove than takes no time: `remove` does that.
  func removeEmpty(of run: UInt64) -> Bool {
    guard let folder = state.withLock({ $0.byRun[run] }) else { return true }
    guard Janitor.removeEmptyFolder(folder) else { return false }
    state.withLock { $0.byRun[run] = nil }
    return true
  }

  /// On any thread: a plugin decides how much it has to remove.
  func remove(of run: UInt64) {
    guard let folder = state.withLock({ $0.byRun.removeValue(forKey: run) }) else { return }
    Janitor.removeFolder(folder)
  }

  /// No run takes one any more.
  func close() {
    let ready = state.withLock { state in
      state.isClosed = true
      return exchange(&state.ready, with: nil)
    }
    guard let ready else { return }
    if Janitor.isThere(ready) { Janitor.removeFolder(ready) } else { Janitor.letGo(of: ready) }
  }
}
