internal import LinuxSystem

/// Decides what a pool of warm plugins does: who gets which plugin, when one that died is replaced, and what stopping waits for. A
/// pure value: `PluginPool` carries out what it says.
///
/// Borrowers get plugins in the order in which they asked, and nothing of an earlier borrower: what that one left is taken back, or the
/// plugin is replaced. A plugin that died after it had served a borrower is replaced at once; one that
/// died before that served no caller, and each such death doubles the time until the next load, until one serves again.
struct PoolMachine {
  enum Event: Equatable {
    case began
    case loaded(slot: Int)
    case loadFailed(slot: Int)
    /// A borrower wants a plugin, until `deadline`.
    case asked(UInt64, deadline: Duration)
    /// The borrower doesn't want one any more.
    case cancelled(UInt64)
    case returned(slot: Int, Return)
    /// What was to be taken back (`Effect.takeBack`) is, or the plugin has ended in that.
    case tookBack(slot: Int, isAlive: Bool)
    /// What was to be lent turned out to be dead.
    case lendingFailed(slot: Int)
    /// One that no borrower had.
    case died(slot: Int)
    /// What was to be ended (`Effect.end`) is gone.
    case ended(slot: Int)
    case timeCame
    case stopped
  }

  /// How a loan went.
  enum Return: Equatable {
    case alive(Leftovers = Leftovers())
    case dead
    /// Its borrower ended it, or gave up a call that was under way: nothing that speaks against the plugin.
    case ended
  }

  /// What a borrower left in a plugin.
  struct Leftovers: Equatable {
    /// Only functions of the library close what they stand for, and it isn't known which.
    var handles = 0
    /// Pieces of memory and callbacks: each is taken back by a call.
    var holdings = 0
    /// Calls of the borrower's, or what an extension began, go on.
    var isBusy = false

    enum Remedy: Equatable { case nothing, takeBack, replace }

    /// Beyond so many calls a fresh plugin is there sooner.
    static let maxTakenBack = 64

    var remedy: Remedy {
      if handles > 0 || isBusy || holdings > Self.maxTakenBack { return .replace }
      return holdings > 0 ? .takeBack : .nothing
    }
  }

  enum Refusal: Equatable { case full, timedOut, cancelled, stopped, loadFailed }

  enum Effect: Equatable {
    case load(slot: Int)
    case lend(slot: Int, to: UInt64)
    case refuse(UInt64, Refusal)
    /// Memory is freed and callbacks are released. The plugin isn't lent meanwhile.
    case takeBack(slot: Int)
    /// It isn't lent, and won't be.
    case end(slot: Int)
    /// Nothing is left.
    case drained
  }

  private enum Slot: Equatable {
    /// `due`: when it is loaded again.
    case empty(due: Duration)
    case loading
    case idle
    case lent(ticket: UInt64, deadline: Duration)
    case takingBack
    case ending
    case over
  }

  static let soonest = Duration.milliseconds(10)
  static let latest = Duration.seconds(10)
  /// After a plugin that was loaded well and died in a borrower's hands: others' calls don't wait long for that.
  static let latestAfterLoan = Duration.milliseconds(100)

  private let maxWaiting: Int
  /// After so many loans a plugin is replaced.
  private let maxLoans: Int
  private var slots: [Slot]
  private var loans: [Int]
  /// Who is idle; the last one was at work last, and is warmest.
  private var idle: [Int] = []
  private var waiting: [(ticket: UInt64, deadline: Duration)] = []
  /// Deaths and failed loads since a plugin served a borrower.
  private var failures = 0
  private var isStopping = false
  private var isDrained = false

  init(size: Int, maxWaiting: Int, maxLoans: Int) {
    self.maxWaiting = maxWaiting
    self.maxLoans = maxLoans
    slots = Array(repeating: .empty(due: .zero), count: size)
    loans = Array(repeating: 0, count: size)
  }

  var counts: (idle: Int, lent: Int, loading: Int, waiting: Int) {
    (
      idle.count, slots.count { if case .lent = $0 { true } else { $0 == .takingBack } },
      slots.count { $0 == .loading },
      waiting.count
    )
  }

  /// When `timeCame` is to follow; nil: not before something else.
  var nextDue: Duration? {
    var due = waiting.map(\.deadline).min()
    for case .empty(let time) in slots { due = min(due ?? time, time) }
    return due
  }

  mutating func handle(_ event: Event, at now: Duration) -> [Effect] {
    var effects: [Effect] = []
    switch event {
    case .began, .timeCame: break
    case .loaded(let slot): loaded(slot, &effects)
    case .loadFailed(let slot):
      guard slots[slot] == .loading else { break }
      leave(slot, isFault: true, at: now)
      // Callers that wait are told why there is none, unless another one may still serve them.
      if !isAnyThere { refuseAll(.loadFailed, &effects) }
    case .asked(let ticket, let deadline): asked(ticket, deadline, &effects)
    case .cancelled(let ticket):
      if let index = waiting.firstIndex(where: { $0.ticket == ticket }) {
        waiting.remove(at: index)
        effects.append(.refuse(ticket, .cancelled))
      }
    case .returned(let slot, let result): returned(slot, result, at: now, &effects)
    case .tookBack(let slot, let isAlive):
      guard slots[slot] == .takingBack else { break }
      if !isAlive {
        leave(slot, isFault: loans[slot] <= 1, atMost: Self.latestAfterLoan, at: now)
      } else {
        lendAgain(slot, &effects)
      }
    case .lendingFailed(let slot):
      guard case .lent(let ticket, let deadline) = slots[slot] else { break }
      if isStopping { effects.append(.refuse(ticket, .stopped)) } else { waiting.insert((ticket, deadline), at: 0) }
      leave(slot, isFault: loans[slot] <= 1, atMost: Self.latestAfterLoan, at: now)
    case .died(let slot):
      guard slots[slot] == .idle else { break }
      idle.removeAll { $0 == slot }
      leave(slot, isFault: loans[slot] == 0, at: now)
    case .ended(let slot):
      guard slots[slot] == .ending else { break }
      leave(slot, isFault: false, at: now)
    case .stopped:
      isStopping = true
      refuseAll(.stopped, &effects)
      for slot in exchange(&idle, with: []) { end(slot, &effects) }
      for slot in slots.indices { if case .empty = slots[slot] { slots[slot] = .over } }
    }
    resume(at: now, &effects)
    return effects
  }

  /// Whether a plugin is there or on its way.
  private var isAnyThere: Bool {
    slots.contains {
      switch $0 {
      case .loading, .idle, .lent, .takingBack: true
      case .empty, .ending, .over: false
      }
    }
  }

  private mutating func loaded(_ slot: Int, _ effects: inout [Effect]) {
    guard slots[slot] == .loading else { return }
    loans[slot] = 0
    if isStopping {
      end(slot, &effects)
    } else {
      slots[slot] = .idle
      idle.append(slot)
    }
  }

  private mutating func asked(_ ticket: UInt64, _ deadline: Duration, _ effects: inout [Effect]) {
    if isStopping {
      effects.append(.refuse(ticket, .stopped))
    } else if waiting.count >= maxWaiting, idle.isEmpty {
      effects.append(.refuse(ticket, .full))
    } else {
      waiting.append((ticket, deadline))
    }
  }

  private mutating func returned(_ slot: Int, _ result: Return, at now: Duration, _ effects: inout [Effect]) {
    guard case .lent = slots[slot] else { return }
    switch result {
    case .alive(let left):
      failures = 0
      switch left.remedy {
      case .takeBack where !isStopping && loans[slot] < maxLoans:
        slots[slot] = .takingBack
        effects.append(.takeBack(slot: slot))
      case .replace: end(slot, &effects)
      case .nothing, .takeBack: lendAgain(slot, &effects)
      }
    case .dead: leave(slot, isFault: loans[slot] <= 1, atMost: Self.latestAfterLoan, at: now)
    case .ended: leave(slot, isFault: false, at: now)
    }
  }

  /// It is lent again, where it may be.
  private mutating func lendAgain(_ slot: Int, _ effects: inout [Effect]) {
    if isStopping || loans[slot] >= maxLoans { return end(slot, &effects) }
    slots[slot] = .idle
    idle.append(slot)
  }

  private mutating func end(_ slot: Int, _ effects: inout [Effect]) {
    slots[slot] = .ending
    effects.append(.end(slot: slot))
  }

  private mutating func leave(_ slot: Int, isFault: Bool, atMost latest: Duration = latest, at now: Duration) {
    if isFault { failures += 1 }
    // Ten doublings are beyond the latest.
    let pause = isFault ? min(Self.soonest * (1 << min(failures - 1, 10)), latest) : .zero
    slots[slot] = isStopping ? .over : .empty(due: now + pause)
  }

  private mutating func refuseAll(_ refusal: Refusal, _ effects: inout [Effect]) {
    for (ticket, _) in waiting { effects.append(.refuse(ticket, refusal)) }
    waiting = []
  }

  private mutating func resume(at now: Duration, _ effects: inout [Effect]) {
    while !waiting.isEmpty, let slot = idle.popLast() {
      let (ticket, deadline) = waiting.removeFirst()
      slots[slot] = .lent(ticket: ticket, deadline: deadline)
      loans[slot] += 1
      effects.append(.lend(slot: slot, to: ticket))
    }
    waiting.removeAll { entry in
      guard entry.deadline <= now else { return false }
      effects.append(.refuse(entry.ticket, .timedOut))
      return true
    }
    for slot in slots.indices {
      guard case .empty(let due) = slots[slot], due <= now else { continue }
      slots[slot] = .loading
      effects.append(.load(slot: slot))
    }
    if isStopping, !isDrained, slots.allSatisfy({ $0 == .over }) {
      isDrained = true
      effects.append(.drained)
    }
  }
}
