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

  var denials: [RunReport.Denial] {
    order.map { key in
      let row = rows[key] ?? (0, false, false)
      return .init(
        layer: key.layer, operation: key.operation, target: key.target, count: row.count, writes: row.writes,
        mayHaveChanged: row.mayHaveChanged)
    }
  }
}
