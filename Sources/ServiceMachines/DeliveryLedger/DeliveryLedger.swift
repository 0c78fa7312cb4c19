/// The life of a finished file, and of a failure, from its staging until somebody was told exactly once (B14, B55).
///
/// While the launch gate is closed everything is held; when it opens, all of it goes out as a batch. A recipient that ends
/// in the middle is no recipient: the same is offered again, unless the file is gone, which was the commit.
public struct DeliveryLedger: Sendable, Equatable, Codable {
  public enum State: Sendable, Equatable, Codable {
    /// Behind the gate.
    case held
    /// Whoever is there may be called.
    case due
    case offered(to: [Recipient])
  }

  public struct Entry: Sendable, Equatable, Codable {
    public var hasFile: Bool
    public var state: State
    /// Recipients that ended while they were told.
    public var lostRecipients = 0
    /// The order of staging.
    var sequence: Int64
  }

  public static let maxLostRecipients = 3

  public private(set) var entries: [String: Entry] = [:]
  public private(set) var isGateClosed = false
  private var staged: Int64 = 0

  public init() {}

  /// For whoever keeps each entry by itself.
  public var withoutEntries: DeliveryLedger {
    var ledger = self
    ledger.entries = [:]
    return ledger
  }

  public mutating func take(_ entry: Entry, of uniqueIdentifier: String) { entries[uniqueIdentifier] = entry }

  public mutating func handle(_ event: Event, now: Instant) -> [Effect] {
    switch event {
    case .staged(let unique, let hasFile):
      guard entries[unique] == nil else { return [] }
      staged += 1
      entries[unique] = Entry(hasFile: hasFile, state: isGateClosed ? .held : .due, sequence: staged)
      return isGateClosed ? [] : [.offer([unique])]
    case .gateClosed:
      isGateClosed = true
      return []
    case .gateOpened:
      isGateClosed = false
      return offer { $0.state == .held }
    case .offered(let unique, let recipient):
      guard let entry = entries[unique] else { return [] }
      if case .offered(let recipients) = entry.state {
        if !recipients.contains(recipient) { entries[unique]?.state = .offered(to: recipients + [recipient]) }
      } else {
        entries[unique]?.state = .offered(to: [recipient])
      }
      return []
    case .acknowledged(let unique, let isMoved):
      guard let entry = entries[unique], case .offered = entry.state else { return [] }
      entries[unique] = nil
      guard entry.hasFile, !isMoved else { return [.settle(uniqueIdentifier: unique, outcome: .delivered)] }
      return [.deleteFile(uniqueIdentifier: unique), .settle(uniqueIdentifier: unique, outcome: .left)]
    case .recipientGone(let unique, let isMoved): return again(unique, isMoved: isMoved, isLost: true)
    case .inspected(let unique, let isMoved): return again(unique, isMoved: isMoved, isLost: false)
    case .discarded(let unique):
      entries[unique] = nil
      return []
    case .restarted: return restarted()
    }
  }

  /// `isLost`: the recipient ended by itself, and not with the service.
  private mutating func again(_ unique: String, isMoved: Bool, isLost: Bool) -> [Effect] {
    guard let entry = entries[unique], case .offered = entry.state else { return [] }
    if entry.hasFile, isMoved {
      entries[unique] = nil
      return [.settle(uniqueIdentifier: unique, outcome: .delivered)]
    }
    if isLost { entries[unique]?.lostRecipients += 1 }
    guard entry.lostRecipients + (isLost ? 1 : 0) < Self.maxLostRecipients else {
      entries[unique] = nil
      return [.settle(uniqueIdentifier: unique, outcome: .undelivered)]
    }
    entries[unique]?.state = isGateClosed ? .held : .due
    return isGateClosed ? [] : [.offer([unique])]
  }

  /// Makes the entries due and offers them, the oldest first.
  private mutating func offer(where isMeant: (Entry) -> Bool) -> [Effect] {
    let meant = entries.filter { isMeant($0.value) }.sorted { $0.value.sequence < $1.value.sequence }.map(\.key)
    for unique in meant { entries[unique]?.state = .due }
    return meant.isEmpty ? [] : [.offer(meant)]
  }

  private mutating func restarted() -> [Effect] {
    // A failure has nothing to look at: it is told again.
    for (unique, entry) in entries where !entry.hasFile {
      if case .offered = entry.state { entries[unique]?.state = isGateClosed ? .held : .due }
    }
    let files = entries.filter { if case .offered = $0.value.state { true } else { false } }
    let inspections = files.sorted { $0.value.sequence < $1.value.sequence }.map {
      Effect.inspect(uniqueIdentifier: $0.key)
    }
    // What was due before the gate closed waits for the batch as well: whoever was to be told of it is gone.
    if isGateClosed {
      for (unique, entry) in entries where entry.state == .due { entries[unique]?.state = .held }
      return inspections
    }
    return offer { $0.state == .due } + inspections
  }
}
