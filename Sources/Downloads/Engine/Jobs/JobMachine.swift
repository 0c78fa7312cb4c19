internal import AssetModel

/// Where the activation of a job stands, and what follows. A pure value: events go in, effects come out, and whoever owns it
/// carries them out in order.
///
/// ```
///            began            a step was decided      quiet
///  opening ───────► transferring ───────► stopping ───────► verifying ──► publishing
///     ▲                                      │  ▲               │             │
///     └──────────── reopened ────────────────┘  └── failedLate ─┴─────────────┤
///                                            └────────── retiring ◄───────────┘
/// ```
struct JobMachine: Equatable {
  enum Phase: Equatable, CaseIterable {
    /// Its partial file is being looked at.
    case opening
    case transferring
    /// Its transfers are over; buffers and a last checkpoint are on their way.
    case stopping
    case verifying
    case publishing
    /// How it ended is on its way to the journal.
    case retiring

    /// Nothing can be asked of it before its slot is free.
    var isEnding: Bool { self == .publishing || self == .retiring }
  }

  enum Event: Equatable {
    /// `transferClass`: what it is downloaded as.
    case command(JobCommand, transferClass: TransferClass)
    /// The transfers are to end, and then this is to follow.
    case decided(NextStep)
    /// Nothing of it is on its way any more. `needsCheckpoint`: something is on the file that the journal doesn't know.
    case quiet(needsCheckpoint: Bool)
    /// The server is asked.
    case began
    /// Its file is checked, or given its name, or what became of it is written down.
    case verifying, publishing, retiring
    /// Checking or publishing failed, and its bytes are there still.
    case failedLate
    /// A write failed: what isn't there can't be checked, let alone published.
    case writeFailed
    /// It begins again.
    case reopened
  }

  enum Effect: Equatable {
    case endTransfers(keepsBytes: Bool)
    /// Whether everything is quiet is looked at.
    case stopIfQuiet
    case checkpoint
    case conclude(NextStep)
    case setClass(TransferClass)
    /// Commands that had to wait.
    case perform(CommandQueue)
  }

  private(set) var phase = Phase.opening
  /// What follows when everything received is safe.
  private(set) var next: NextStep?
  /// What was asked for when the activation was over but for its last commit.
  private(set) var commands = CommandQueue()

  /// Whether a step takes effect now.
  func accepts(_ step: NextStep) -> Bool { next?.givesWay(to: step) ?? true }

  mutating func handle(_ event: Event) -> [Effect] {
    switch event {
    case .command(let command, let transferClass): return perform(command, transferClass)
    case .decided(let step):
      guard accepts(step) else { return [] }
      next = step
      if phase == .transferring { phase = .stopping }
      return [.endTransfers(keepsBytes: step.keepsBytes), .stopIfQuiet]
    case .quiet(let needsCheckpoint):
      guard let next, phase == .stopping || phase == .opening else { return [] }
      if needsCheckpoint, next.keepsBytes { return [.checkpoint] }
      self.next = nil
      return [.conclude(next)]
    case .began: phase = .transferring
    case .verifying: phase = .verifying
    case .publishing: phase = .publishing
    case .retiring: phase = .retiring
    case .failedLate: phase = .stopping
    case .writeFailed:
      switch next {
      case .verify, .retry: next = nil
      default: break
      }
    case .reopened:
      phase = .opening
      // They waited for an end that isn't near any more.
      defer { commands = CommandQueue() }
      return commands.isEmpty ? [] : [.perform(commands)]
    }
    return []
  }

  private mutating func perform(_ command: JobCommand, _ transferClass: TransferClass) -> [Effect] {
    switch command {
    case .pause:
      // What was asked for before, and waits, is overtaken by this.
      commands.removePauseAndResume()
      if !phase.isEnding, accepts(.pause) { return handle(.decided(.pause)) }
    case .cancel: if !phase.isEnding, accepts(.cancel) { return handle(.decided(.cancel)) }
    // It is about to wait for something, or somebody has just asked for that.
    case .resume: if !phase.isEnding, next == nil, commands.isEmpty { return [] }
    case .setClass(let wanted) where !phase.isEnding:
      guard transferClass != wanted else { return [] }
      return [.setClass(wanted)] + handle(.decided(.yield))
    case .setClass: break
    case .supersede:
      commands.append(command)
      return phase.isEnding ? [] : handle(.decided(.yield))
    }
    commands.append(command)
    return []
  }

  /// Checking came to its end while something else was decided. What that is; nil: nothing was, or only that it is checked.
  mutating func verified() -> NextStep? {
    guard let next else { return nil }
    phase = .stopping
    if case .verify = next {
      self.next = nil
      return nil
    }
    return next
  }
}
