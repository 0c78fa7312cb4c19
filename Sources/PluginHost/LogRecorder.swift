/// Keeps a plugin's log up to its limit and counts the rest.
struct LogRecorder {
  let limit: Int
  private var used = 0
  private(set) var droppedBytes = 0
  private(set) var droppedLines = 0
  private(set) var lines: [RunReport.LogLine] = []

  init(limit: Int) { self.limit = limit }

  private static let levels = ["debug", "info", "default", "error", "fault"]

  mutating func record(level: UInt8, subsystem: String, category: String, message: String) {
    keep(
      .init(level: Self.levels[Int(min(level, 4))], subsystem: subsystem, category: category, message: message),
      bytes: subsystem.utf8.count + category.utf8.count + message.utf8.count)
  }

  /// What a plugin wrote to its standard output and error, line by line.
  mutating func recordOutput(_ bytes: some Collection<UInt8>) {
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
      keep(.init(level: "default", subsystem: "", category: "output", message: String(line)), bytes: line.utf8.count)
    }
  }

  /// `bytes`: how many of the line are the plugin's.
  private mutating func keep(_ line: RunReport.LogLine, bytes: Int) {
    // A line of nothing still takes room.
    guard used + bytes + 16 <= limit else {
      droppedBytes += bytes
      droppedLines += 1
      return
    }
    used += bytes + 16
    lines.append(line)
  }
}
