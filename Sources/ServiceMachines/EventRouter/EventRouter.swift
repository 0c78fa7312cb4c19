/// Who is told of a download's events (B27 to B34, B71 to B73).
///
/// Every delegate gets every event. Challenges, failures and finished files are calls with an answer: what no delegate
/// handles goes to the extension, which is woken for it. The rest is told and forgotten.
package struct EventRouter: Sendable, Equatable, Codable {
  /// An occurrence, with the recipients that were called for it.
  package struct Call: Sendable, Equatable, Codable {
    package var occurrence: Occurrence
    /// Recipients that haven't answered.
    package var pending: [Recipient]
    package var handledBy: [Recipient] = []
    package var gone: Recipient?
    /// nil: bounded by the run itself.
    package var deadline: Instant?

    /// `asked`: as the journal has it.
    private enum CodingKeys: String, CodingKey {
      case occurrence, handledBy, gone, deadline
      case pending = "asked"
    }
  }

  /// A server closes the connection sooner or later (B73).
  static let challengeTimeout: Duration = .seconds(30)
  /// A delegate may be at work with a large file.
  static let callTimeout: Duration = .minutes(5)
  /// A process that lost its service connects again within a second of the next one's start.
  static let reconnectionTimeout: Duration = .seconds(2)

  /// With a delegate, in the order in which they came.
  package private(set) var observers: [Recipient] = []
  package private(set) var calls: [Call] = []
  /// For the extension, in order.
  package private(set) var waiting: [Occurrence] = []
  /// The run that takes what waits.
  package private(set) var readyRun: Int64?
  private var isWakeAsked = false
  /// The run that was asked for, until it is ready.
  private var wokenRun: Int64?
  /// Until then what is for the extension waits, because a delegate may come back for it (B29).
  private var reconnectsUntil: Instant?

  package init() {}

  package var nextDeadline: Instant? {
    let next = calls.lazy.compactMap(\.deadline).min()
    guard let reconnectsUntil, !waiting.isEmpty else { return next }
    return min(next ?? reconnectsUntil, reconnectsUntil)
  }

  package mutating func handle(_ event: Event, now: Instant) -> [Effect] {
    var effects: [Effect] = []
    if let until = reconnectsUntil, until <= now {
      reconnectsUntil = nil
      effects = wake()
    }
    return effects + take(event, now)
  }

  private mutating func take(_ event: Event, _ now: Instant) -> [Effect] {
    switch event {
    case .occurred(let occurrence): return occurred(occurrence, now)
    case .observing(let recipient, let isObserving):
      observers.removeAll { $0 == recipient }
      guard isObserving else { return [] }
      observers.append(recipient)
      guard reconnectsUntil != nil, case .connection = recipient else { return [] }
      let all = waiting
      waiting.removeAll()
      return all.flatMap { occurred($0, now) }
    case .answered(let number, let recipient, let isHandled):
      guard let index = calls.firstIndex(where: { $0.occurrence.number == number }),
        calls[index].pending.contains(recipient)
      else { return [] }
      calls[index].pending.removeAll { $0 == recipient }
      // The extension is the last: its default implementations answer for it (B72).
      if isHandled || recipient.isEntryPoint { calls[index].handledBy.append(recipient) }
      return conclude(index)
    case .left(let recipient): return left(recipient, now)
    case .wakeGranted(let run):
      wokenRun = run
      return []
    case .extensionReady(let run):
      readyRun = run
      wokenRun = nil
      isWakeAsked = false
      let all = waiting
      waiting.removeAll()
      return all.map { callExtension($0, run) }
    case .extensionEnding(let run):
      if readyRun == run { readyRun = nil }
      observers.removeAll { $0 == .delegate(run: run) }
      return []
    case .notCalled(let number, let recipient): return notCalled(number, recipient)
    case .wakeRefused:
      isWakeAsked = false
      let challenges = waiting.filter { $0.kind == .challenge }
      waiting.removeAll { $0.kind == .challenge }
      return challenges.map { .resolved(occurrence: $0, resolution: .unhandled) }
    case .wakePossible: return wake()
    case .dropped(let number): return dropped(number)
    case .tick: return tick(now)
    case .restarted(let isAppRunning):
      // Connections, runs and challenges went with the service; the ledger offers the rest anew.
      self = EventRouter()
      if isAppRunning { reconnectsUntil = now + Self.reconnectionTimeout }
      return []
    }
  }

  private mutating func occurred(_ occurrence: Occurrence, _ now: Instant) -> [Effect] {
    guard occurrence.kind.needsAnswer else {
      return observers.isEmpty ? [] : [.notify(recipients: observers, occurrence: occurrence)]
    }
    let isKnown =
      calls.contains { $0.occurrence.number == occurrence.number }
      || waiting.contains { $0.number == occurrence.number }
    guard !isKnown else { return [] }
    guard !observers.isEmpty else { return toExtension(occurrence) }
    let timeout = occurrence.kind == .challenge ? Self.challengeTimeout : Self.callTimeout
    calls.append(Call(occurrence: occurrence, pending: observers, deadline: now + timeout))
    return observers.map { .call(recipient: $0, occurrence: occurrence) }
  }

  private mutating func toExtension(_ occurrence: Occurrence) -> [Effect] {
    if let readyRun { return [callExtension(occurrence, readyRun)] }
    waiting.append(occurrence)
    return wake()
  }

  private mutating func callExtension(_ occurrence: Occurrence, _ run: Int64) -> Effect {
    calls.append(Call(occurrence: occurrence, pending: [.entryPoint(run: run)]))
    return .call(recipient: .entryPoint(run: run), occurrence: occurrence)
  }

  private mutating func wake() -> [Effect] {
    guard !waiting.isEmpty, !isWakeAsked, readyRun == nil, reconnectsUntil == nil else { return [] }
    isWakeAsked = true
    return [.wakeExtension]
  }

  /// Once everyone who was asked has answered or is gone.
  private mutating func conclude(_ index: Int) -> [Effect] {
    guard calls[index].pending.isEmpty else { return [] }
    let call = calls.remove(at: index)
    let occurrence = call.occurrence
    if !call.handledBy.isEmpty { return [.resolved(occurrence: occurrence, resolution: .handled(by: call.handledBy))] }
    guard let gone = call.gone else { return toExtension(occurrence) }
    // A challenge may go on to the extension, unless that is who left.
    if occurrence.kind == .challenge {
      return gone.isEntryPoint
        ? [.resolved(occurrence: occurrence, resolution: .unhandled)] : toExtension(occurrence)
    }
    return [.resolved(occurrence: occurrence, resolution: .recipientGone(gone))]
  }

  private mutating func left(_ recipient: Recipient, _ now: Instant) -> [Effect] {
    observers.removeAll { $0 == recipient }
    if case .entryPoint(let run) = recipient {
      if run == readyRun { readyRun = nil }
      // It ended before it was ready: what waits for it is asked for again.
      if run == wokenRun { (wokenRun, isWakeAsked) = (nil, false) }
    }
    // A delegate is told one at a time, in order: only the first is what its process can have ended in.
    let begun = calls.first { $0.pending.contains(recipient) && $0.occurrence.kind != .challenge }?.occurrence.number
    var effects: [Effect] = []
    var untold: [Occurrence] = []
    for index in calls.indices.reversed() where calls[index].pending.contains(recipient) {
      calls[index].pending.removeAll { $0 == recipient }
      let call = calls[index]
      if case .connection = recipient, call.occurrence.kind != .challenge, call.occurrence.number != begun,
        call.gone == nil, call.handledBy.isEmpty
      {
        if call.pending.isEmpty { untold.insert(calls.remove(at: index).occurrence, at: 0) }
        continue
      }
      calls[index].gone = recipient
      effects = conclude(index) + effects
    }
    return effects + untold.flatMap { occurred($0, now) } + wake()
  }

  private mutating func notCalled(_ number: Int64, _ recipient: Recipient) -> [Effect] {
    guard
      let index = calls.firstIndex(where: { $0.occurrence.number == number && $0.pending.contains(recipient) })
    else { return [] }
    observers.removeAll { $0 == recipient }
    if case .entryPoint(let run) = recipient {
      if readyRun == run { readyRun = nil }
      return toExtension(calls.remove(at: index).occurrence)
    }
    calls[index].pending.removeAll { $0 == recipient }
    return conclude(index)
  }

  private mutating func dropped(_ number: Int64) -> [Effect] {
    if let index = waiting.firstIndex(where: { $0.number == number }) {
      return [.resolved(occurrence: waiting.remove(at: index), resolution: .dropped)]
    }
    guard let index = calls.firstIndex(where: { $0.occurrence.number == number }) else { return [] }
    let call = calls.remove(at: index)
    return call.pending.map { .withdraw(recipient: $0, number: number) }
      + [.resolved(occurrence: call.occurrence, resolution: .dropped)]
  }

  private mutating func tick(_ now: Instant) -> [Effect] {
    var effects: [Effect] = []
    for index in calls.indices.reversed() {
      guard let deadline = calls[index].deadline, deadline <= now else { continue }
      let number = calls[index].occurrence.number
      effects += calls[index].pending.map { .withdraw(recipient: $0, number: number) }
      calls[index].gone = calls[index].pending.first
      calls[index].pending = []
      effects += conclude(index)
    }
    return effects
  }
}

extension Recipient {
  var isEntryPoint: Bool { if case .entryPoint = self { true } else { false } }
}
