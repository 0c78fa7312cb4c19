internal import AssetModel

/// Where the activation of a job stands, and what follows. A pure value: events go in, effects come out, and its owner carries
/// them out in order. What was decided and hasn't happened yet is in its phase.
///
/// ```
///            began            a step was decided       quiet
///  opening ───────► transferring ───────► stopping ───────► concluding ───► verifying ───► publishing
///     ▲                                      ▲                │ │               │              │
///     │                                      └── failed ──────┼─┼───────────────┴──────────────┤
///     └───────────────────── reopened ────────────────────────┘ └──► suspectingPortal ──► retiring
/// ```
struct JobMachine: Equatable {
  /// Indirect, so that it is looked at without a copy of what it carries: each received buffer asks for it.
  indirect enum Phase: Equatable {
    /// Its partial file is being looked at. `next`: what follows when that is done; nil: the request.
    case opening(next: NextStep?)
    case transferring
    /// Its transfers are over; buffers and a last checkpoint are on their way.
    case stopping(next: NextStep)
    /// All that it received is safe, and the step is carried out.
    case concluding(NextStep)
    /// Its file is being checked. `next`: what follows instead of publishing it.
    case verifying(next: NextStep?)
    case publishing
    /// A login page may have come instead of what it failed with.
    case suspectingPortal(TransferFailure)
    /// Its files are being removed, or the journal is being told how it ended.
    case retiring(Retirement)
  }

  enum Event: Equatable {
    /// `transferClass`: what it is downloaded as.
    case command(JobCommand, transferClass: TransferClass)
    /// The transfers are to end, and then this is to follow.
    case decided(NextStep)
    /// What was under way failed, and this is to follow. The bytes are there still.
    case failed(NextStep)
    /// A write failed: what isn't there can't be checked, let alone published.
    case writeFailed(NextStep)
    /// Nothing of it is on its way any more. `needsCheckpoint`: something is on the file that the journal doesn't know.
    case quiet(needsCheckpoint: Bool)
    /// The server is asked.
    case began
    /// The file is checked.
    case verifying
    /// The check came to its end.
    case verified
    /// The file is given its name.
    case publishing
    /// It is asked whether a login page came instead of the file.
    case suspectedPortal(TransferFailure)
    case ended(Retirement)
    case filesRemoved
    case committed(JournalFailure?)
    /// It ended, and the journal knows all of it.
    case over
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
    case removeFiles(Retirement.Removal)
    case commit(Attempt?)
    /// The slot is given back.
    case leaveSlot
    /// Carried out, as the journal has it.
    case enter(Disposition)
    /// Carried out when the journal can be written.
    case keepUpdate(Disposition, JournalFailure)
    /// Commands that had to wait.
    case perform(CommandQueue)
  }

  private(set) var phase = Phase.opening(next: nil)
  /// What was asked for when the activation was over but for its last commit.
  private(set) var commands = CommandQueue()

  /// What follows when everything received is safe.
  var next: NextStep? {
    switch phase {
    case .opening(let next), .verifying(let next): next
    case .stopping(let next): next
    case .transferring, .concluding, .publishing, .suspectingPortal, .retiring: nil
    }
  }

  /// Whether a step was decided that hasn't happened yet.
  var isDecided: Bool {
    switch phase {
    case .opening(nil), .verifying(nil): false
    case .opening, .verifying, .stopping: true
    case .transferring, .concluding, .publishing, .suspectingPortal, .retiring: false
    }
  }

  var isOpening: Bool { if case .opening = phase { true } else { false } }
  var isTransferring: Bool { if case .transferring = phase { true } else { false } }
  /// Whether it makes room at once where that is wanted.
  var canStop: Bool { isOpening || isTransferring }
  /// It ends as soon as nothing is on its way any more.
  var isStopping: Bool {
    if case .stopping = phase { return true }
    return isOpening && isDecided
  }

  /// Nothing can be asked of it before its slot is free.
  private var isEnding: Bool {
    switch phase {
    case .concluding, .publishing, .suspectingPortal, .retiring: true
    case .opening, .transferring, .stopping, .verifying: false
    }
  }

  /// Whether a step takes effect now.
  func accepts(_ step: NextStep) -> Bool { !isEnding && next?.givesWay(to: step) ?? true }

  mutating func handle(_ event: Event) -> [Effect] {
    switch event {
    case .command(let command, let transferClass): return perform(command, transferClass)
    case .decided(let step): return accepts(step) ? decide(step) : []
    case .failed(let step): return fail(step)
    case .writeFailed(let step):
      switch next {
      case .verify, .retry: return decide(step, endsCheck: true)
      default: return fail(step)
      }
    case .quiet(let needsCheckpoint):
      guard isStopping, let next else { return [] }
      if needsCheckpoint, next.keepsBytes { return [.checkpoint] }
      phase = .concluding(next)
      return [.conclude(next)]
    case .began: if isOpening, !isDecided { phase = .transferring }
    case .verifying:
      switch phase {
      case .concluding(.verify), .concluding(.yield): phase = .verifying(next: nil)
      default: break
      }
    case .verified:
      guard case .verifying(let next?) = phase else { return [] }
      if next == .verify {
        phase = .verifying(next: nil)
        return []
      }
      phase = .stopping(next: next)
      return [.stopIfQuiet]
    case .publishing: if canPublish { phase = .publishing }
    case .suspectedPortal(let failure): if !isRetiring { phase = .suspectingPortal(failure) }
    case .ended(let retirement):
      guard !isRetiring else { return [] }
      phase = .retiring(retirement)
      return retirement.removal == .nothing ? [.commit(retirement.attempt)] : [.removeFiles(retirement.removal)]
    case .filesRemoved:
      guard case .retiring(let retirement) = phase else { return [] }
      return [.commit(retirement.attempt)]
    case .committed(let failure):
      guard case .retiring(let retirement) = phase else { return [] }
      let end: Effect = failure.map { .keepUpdate(retirement.disposition, $0) } ?? .enter(retirement.disposition)
      return [.leaveSlot, end] + takeCommands()
    case .over: return [.leaveSlot] + takeCommands()
    case .reopened:
      guard !isRetiring else { return [] }
      // What was decided while its file was checked follows when it was opened.
      phase = .opening(next: next)
      // They waited for an end that isn't near any more.
      return takeCommands()
    }
    return []
  }

  private var isRetiring: Bool { if case .retiring = phase { true } else { false } }

  /// A verified file that only lacks its name is published without having been transferred.
  private var canPublish: Bool {
    switch phase {
    case .opening, .verifying: true
    default: false
    }
  }

  private mutating func decide(_ step: NextStep, endsCheck: Bool = false) -> [Effect] {
    switch phase {
    case .opening: phase = .opening(next: step)
    case .verifying where !endsCheck: phase = .verifying(next: step)
    default: phase = .stopping(next: step)
    }
    return [.endTransfers(keepsBytes: step.keepsBytes), .stopIfQuiet]
  }

  /// A check or a publication is over by it; of transfers, what was decided before may come first.
  private mutating func fail(_ step: NextStep) -> [Effect] {
    switch phase {
    case .opening, .transferring, .stopping: return accepts(step) ? decide(step) : []
    case .verifying(let next):
      guard let next, next != .verify, !next.givesWay(to: step) else { return decide(step, endsCheck: true) }
      return decide(next, endsCheck: true)
    case .publishing: return decide(step)
    case .concluding, .suspectingPortal, .retiring: return []
    }
  }

  private mutating func takeCommands() -> [Effect] {
    defer { commands = CommandQueue() }
    return commands.isEmpty ? [] : [.perform(commands)]
  }

  private mutating func perform(_ command: JobCommand, _ transferClass: TransferClass) -> [Effect] {
    switch command {
    case .pause:
      // What was asked for before, and waits, is overtaken by this.
      commands.removePauseAndResume()
      if accepts(.pause) { return decide(.pause) }
    case .cancel: if accepts(.cancel) { return decide(.cancel) }
    // It is about to wait for something, or was just asked to.
    case .resume: if !isEnding, !isDecided, commands.isEmpty { return [] }
    case .setClass(let wanted) where !isEnding:
      guard transferClass != wanted else { return [] }
      return [.setClass(wanted)] + handle(.decided(.yield))
    case .setClass: break
    case .supersede:
      commands.append(command)
      return handle(.decided(.yield))
    }
    commands.append(command)
    return []
  }
}
