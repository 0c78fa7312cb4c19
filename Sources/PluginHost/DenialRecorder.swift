/// Counts what was denied. A plugin that tries a million times costs one row, and a million different things cost as
/// many rows as a report has room for.
struct DenialRecorder {
  private struct Key: Hashable {
    var layer: String
    var operation: String
    var target: String
  }

  static let maxRows = 256
  private var rows: [Key: (count: Int, writes: Bool, mayHaveChanged: Bool)] = [:]
  private var order: [Key] = []
  private(set) var dropped = 0
  /// All of them, by the wall that stopped them.
  private(set) var countsByWall: [String: Int] = [:]
  /// Who hears of each as it happens.
  private let feed: EventFeed?

  init(feed: EventFeed? = nil) { self.feed = feed }

  mutating func record(
    layer: String, operation: String, target: String, writes: Bool = false, mayHaveChanged: Bool = false
  ) {
    countsByWall[layer, default: 0] += 1
    feed?.tell {
      .denied(
        .init(
          layer: layer, operation: operation, target: target, count: 1, writes: writes, mayHaveChanged: mayHaveChanged))
    }
    let key = Key(layer: layer, operation: operation, target: target)
    if let row = rows[key] {
      rows[key] = (row.count + 1, row.writes || writes, row.mayHaveChanged || mayHaveChanged)
    } else if rows.count < Self.maxRows {
      rows[key] = (1, writes, mayHaveChanged)
      order.append(key)
    } else {
      dropped += 1
    }
  }

  /// What was counted elsewhere, in all: the first of each may have been recorded here as it happened.
  mutating func settle(_ denial: RunReport.Denial) {
    let key = Key(layer: denial.layer, operation: denial.operation, target: denial.target)
    let before = rows[key]?.count ?? 0
    countsByWall[denial.layer, default: 0] += max(denial.count - before, 0)
    guard before > 0 || rows.count < Self.maxRows else { return drop(denial.count) }
    if before == 0 { order.append(key) }
    rows[key] = (max(denial.count, before), denial.writes, denial.mayHaveChanged)
  }

  /// So many more that nobody can name.
  mutating func drop(_ count: Int) { dropped += count }

  var denials: [RunReport.Denial] {
    order.map { key in
      let row = rows[key] ?? (0, false, false)
      return .init(
        layer: key.layer, operation: key.operation, target: key.target, count: row.count, writes: row.writes,
        mayHaveChanged: row.mayHaveChanged)
    }
  }
}
