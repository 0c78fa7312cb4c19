/// The life of a finished file, and of a failure, from its staging until it was delivered exactly once (B14, B55).
///
/// While the launch gate is closed everything is held; when it opens, all of it goes out as a batch. A recipient that ends
/// in the middle is no recipient: the same is offered again, unless the file is gone, which was the commit.
package struct DeliveryLedger: Sendable, Equatable, Codable {
  package enum State: Sendable, Equatable, Codable {
    /// Behind the gate.
    case held
    /// Any recipient that is there may be called.
    case due
    case offered(to: [Recipient])
  }

  package struct Entry: Sendable, Equatable, Codable {
    package var hasFile: Bool
    /// Of a file.
    package var identifier: String?
    package var state: State
    /// Recipients that ended while they were told.
    package var lostRecipients = 0
    /// The order of staging.
    var sequence: Int64
  }

  package static let maxLostRecipients = 3

  package private(set) var entries: [String: Entry] = [:]
  package private(set) var isGateClosed = false
  private var staged: Int64 = 0
  /// Unique identifiers of files that no recipient has taken yet, by identifier.
  private var waiting: [String: String] = [:]
  /// Identifiers of files that were handed over since the extension was asked, as long as it hasn't answered.
  private var handedOver: Set<String>?

  package init() {}

  /// What follows from the entries, and what ends with the service, isn't kept.
  private enum CodingKeys: String, CodingKey { case entries, isGateClosed, staged }

  package init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    isGateClosed = try fields.decode(Bool.self, forKey: .isGateClosed)
    staged = try fields.decode(Int64.self, forKey: .staged)
    for (unique, entry) in try fields.decode([String: Entry].self, forKey: .entries) { take(entry, of: unique) }
  }

  /// Whether a file of that identifier is there, and no recipient has been called with it yet.
  package func isDue(_ identifier: String) -> Bool {
    guard let unique = waiting[identifier], let entry = entries[unique] else { return false }
    if case .offered = entry.state { return false }
    return true
  }

  /// Whether an answer that names this identifier was given without knowing of a file that has arrived: one that waits to be
  /// handed over, or was handed over meanwhile.
  package func isUnknownToAnswer(_ identifier: String) -> Bool {
    waiting[identifier] != nil || handedOver?.contains(identifier) == true
  }

  /// For the journal, which keeps each entry by itself.
  package var withoutEntries: DeliveryLedger {
    var ledger = self
    ledger.entries = [:]
    ledger.waiting = [:]
    ledger.handedOver = nil
    return ledger
  }

  package mutating func take(_ entry: Entry, of uniqueIdentifier: String) {
    entries[uniqueIdentifier] = entry
    if let identifier = entry.identifier { waiting[identifier] = uniqueIdentifier }
  }

  private mutating func remove(_ uniqueIdentifier: String) {
    guard let identifier = entries.removeValue(forKey: uniqueIdentifier)?.identifier,
      waiting[identifier] == uniqueIdentifier
    else { return }
    waiting[identifier] = nil
    handedOver?.insert(identifier)
  }

  package mutating func handle(_ event: Event, now: Instant) -> [Effect] {
    switch event {
    case .staged(let unique, let identifier, let hasFile):
      guard entries[unique] == nil else { return [] }
      staged += 1
      take(
        Entry(
          hasFile: hasFile, identifier: hasFile ? identifier : nil, state: isGateClosed ? .held : .due, sequence: staged
        ),
        of: unique)
      return isGateClosed ? [] : [.offer([unique])]
    case .asked:
      handedOver = []
      return []
    case .answered:
      handedOver = nil
      return []
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
      remove(unique)
      guard entry.hasFile, !isMoved else { return [.close(uniqueIdentifier: unique, outcome: .delivered)] }
      return [.deleteFile(uniqueIdentifier: unique), .close(uniqueIdentifier: unique, outcome: .left)]
    case .recipientGone(let unique, let isMoved): return again(unique, isMoved: isMoved, isLost: true)
    case .inspected(let unique, let isMoved): return again(unique, isMoved: isMoved, isLost: false)
    case .discarded(let unique):
      remove(unique)
      return []
    case .restarted: return restarted()
    }
  }

  /// `isLost`: the recipient ended by itself, and not with the service.
  private mutating func again(_ unique: String, isMoved: Bool, isLost: Bool) -> [Effect] {
    guard let entry = entries[unique], case .offered = entry.state else { return [] }
    if entry.hasFile, isMoved {
      remove(unique)
      return [.close(uniqueIdentifier: unique, outcome: .delivered)]
    }
    if isLost { entries[unique]?.lostRecipients += 1 }
    guard entry.lostRecipients + (isLost ? 1 : 0) < Self.maxLostRecipients else {
      remove(unique)
      return [.close(uniqueIdentifier: unique, outcome: .undelivered)]
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
    handedOver = nil
    // A failure has nothing to look at: it is told again.
    for (unique, entry) in entries where !entry.hasFile {
      if case .offered = entry.state { entries[unique]?.state = isGateClosed ? .held : .due }
    }
    let files = entries.filter { if case .offered = $0.value.state { true } else { false } }
    let inspections = files.sorted { $0.value.sequence < $1.value.sequence }.map {
      Effect.inspect(uniqueIdentifier: $0.key)
    }
    // What was due before the gate closed waits for the batch as well: the recipient that was to be told of it is gone.
    if isGateClosed {
      for (unique, entry) in entries where entry.state == .due { entries[unique]?.state = .held }
      return inspections
    }
    return offer { $0.state == .due } + inspections
  }
}
