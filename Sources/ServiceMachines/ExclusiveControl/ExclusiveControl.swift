/// The advisory lock between an app and its extension (B65 to B70): one holder, the others in the order in which they came.
package struct ExclusiveControl: Sendable, Equatable, Codable {
  package struct Waiting: Sendable, Equatable, Codable {
    package var claim: Claim
    /// nil: as long as it takes.
    package var deadline: Instant?
  }

  /// Requests of one holder that may wait.
  static let maxWaiting = 64

  package private(set) var holder: Claim?
  package private(set) var waiting: [Waiting] = []

  package init() {}

  package var nextDeadline: Instant? { waiting.lazy.compactMap(\.deadline).min() }

  package mutating func handle(_ event: Event, now: Instant) -> [Effect] {
    switch event {
    case .requested(let claim, let timeout): return refuseLate(now) + requested(claim, timeout, now)
    case .released(let claim):
      waiting.removeAll { $0.claim == claim }
      if holder == claim { holder = nil }
      return refuseLate(now) + grantNext()
    case .holderGone(let gone):
      waiting.removeAll { $0.claim.holder == gone }
      if holder?.holder == gone { holder = nil }
      return refuseLate(now) + grantNext()
    case .appRemoved:
      let all = waiting
      self = ExclusiveControl()
      return all.map { .refuse($0.claim, .appRemoved) }
    case .tick: return refuseLate(now) + grantNext()
    case .restarted:
      self = ExclusiveControl()
      return []
    }
  }

  private mutating func requested(_ claim: Claim, _ timeout: Duration?, _ now: Instant) -> [Effect] {
    if holder == claim || waiting.contains(where: { $0.claim == claim }) { return [.refuse(claim, .tokenInUse)] }
    if holder == nil, waiting.isEmpty {
      holder = claim
      return [.grant(claim)]
    }
    if let timeout, timeout <= .zero { return [.refuse(claim, .notInTime)] }
    guard waiting.lazy.filter({ $0.claim.holder == claim.holder }).count < Self.maxWaiting else {
      return [.refuse(claim, .tooMany)]
    }
    waiting.append(Waiting(claim: claim, deadline: timeout.map { now + $0 }))
    return []
  }

  private mutating func refuseLate(_ now: Instant) -> [Effect] {
    func isLate(_ item: Waiting) -> Bool { item.deadline.map { $0 <= now } ?? false }
    let late = waiting.filter(isLate)
    waiting.removeAll(where: isLate)
    return late.map { .refuse($0.claim, .notInTime) }
  }

  private mutating func grantNext() -> [Effect] {
    guard holder == nil, !waiting.isEmpty else { return [] }
    let next = waiting.removeFirst().claim
    holder = next
    return [.grant(next)]
  }
}
