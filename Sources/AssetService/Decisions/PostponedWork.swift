internal import AssetModel

/// What can't be done before the journal of downloads can be read (again): pure.
///
/// What concerns the same download is done in order, so what follows an item that waits does so, too.
struct PostponedWork {
  enum Subject: Sendable, Hashable {
    case download(Transfers.Key)
    /// One whose download isn't known yet.
    case job(JobID)
    case service
  }

  enum Item: Sendable, Equatable {
    case action(Action)
    /// The engine has said that it is done with a download.
    case ending
    /// The engine's job of a download is cancelled, and nothing is said of it.
    case release
    case event(Transfers.Event)
    /// Looking for what the engine ended before the service was there to be told.
    case reconciliation

    /// Whether an earlier one needn't be done any more.
    fileprivate func replaces(_ earlier: Self) -> Bool {
      if case .event(.progress) = self, case .event(.progress) = earlier { return true }
      return self == earlier
    }
  }

  /// Where so many subjects in a row can't be read, the others of a round aren't tried.
  static let maxFailures = 16
  private static let longestDelay: Duration = .seconds(60)

  /// A subject without items is being worked on.
  private var items: [Subject: [Item]] = [:]
  private var order: [Subject] = []
  /// Rounds in a row in which nothing could be done.
  private var fruitlessRounds = 0
  private var isReported = false

  var isEmpty: Bool { items.isEmpty }

  func isWaiting(_ subject: Subject) -> Bool { items[subject] != nil }

  /// The time until the next round.
  var delay: Duration { min(Self.longestDelay, .seconds(1 << min(fruitlessRounds, 6))) }

  mutating func add(_ item: Item, of subject: Subject) {
    if items[subject] == nil { order.append(subject) }
    var all = items[subject] ?? []
    all.removeAll { item.replaces($0) }
    items[subject] = all + [item]
  }

  /// Whether it is news that the journal can't be read.
  mutating func failed() -> Bool {
    defer { isReported = true }
    return !isReported
  }

  // MARK: A round

  /// Everything that waits, to be tried in this order.
  mutating func takeRound() -> [Subject] {
    defer { order = [] }
    return order
  }

  /// What is to be done next of a subject; nil: it is done with.
  mutating func takeFirst(of subject: Subject) -> Item? {
    guard items[subject]?.isEmpty == false else {
      items[subject] = nil
      return nil
    }
    return items[subject]?.removeFirst()
  }

  /// It still can't be done. Others are tried before it the next time.
  mutating func putBack(_ item: Item, of subject: Subject) {
    items[subject, default: []].insert(item, at: 0)
    order.append(subject)
  }

  /// The round is over, except for `left`. Returns whether it is news that the journal can be read again.
  mutating func endRound(left: some Collection<Subject>, hasDone: Bool) -> Bool {
    order.insert(contentsOf: left, at: 0)
    fruitlessRounds = hasDone ? 0 : fruitlessRounds + 1
    guard isEmpty, isReported else { return false }
    isReported = false
    return true
  }
}
