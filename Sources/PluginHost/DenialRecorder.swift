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

/// Keeps a plugin's log up to its limit and counts the rest.
struct LogRecorder {
  let limit: Int
  private var used = 0
  private(set) var dropped = 0
  private(set) var lines: [RunReport.LogLine] = []

  init(limit: Int) { self.limit = limit }

  private static let levels = ["debug", "info", "default", "error", "fault"]

  mutating func record(level: UInt8, subsystem: String, category: String, message: String) {
    // A line of nothing still takes room.
    let size = subsystem.utf8.count + category.utf8.count + message.utf8.count + 16
    guard used + size <= limit else {
      dropped += message.utf8.count
      return
    }
    used += size
    lines.append(
      .init(level: Self.levels[Int(min(level, 4))], subsystem: subsystem, category: category, message: message))
  }

  /// What a plugin wrote to its standard output and error, line by line.
  mutating func recordOutput(_ bytes: some Collection<UInt8>) {
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
      record(level: 2, subsystem: "", category: "output", message: String(line))
    }
  }
}
