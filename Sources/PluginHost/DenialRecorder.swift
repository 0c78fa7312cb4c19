/// Counts what was denied. A plugin that tries a million times costs one row, and a million different things cost as
/// many rows as a report has room for.
struct DenialRecorder {
  private struct Key: Hashable {
    var layer: String
    var operation: String
    var target: String
  }

  static let mostRows = 256
  private var rows: [Key: Int] = [:]
  private var order: [Key] = []
  private(set) var dropped = 0

  mutating func record(layer: String, operation: String, target: String) {
    let key = Key(layer: layer, operation: operation, target: target)
    if let count = rows[key] {
      rows[key] = count + 1
    } else if rows.count < Self.mostRows {
      rows[key] = 1
      order.append(key)
    } else {
      dropped += 1
    }
  }

  var denials: [RunReport.Denial] {
    order.map { .init(layer: $0.layer, operation: $0.operation, target: $0.target, count: rows[$0] ?? 0) }
  }
}
