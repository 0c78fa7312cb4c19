internal import Glibc

/// Keeps a plugin's log up to its limit and counts the rest.
struct LogRecorder {
  let limit: Int
  private var used = 0
  private(set) var droppedBytes = 0
  private(set) var droppedLines = 0
  private(set) var lines: [RunReport.LogLine] = []
  /// Is told of the lines as they come, also of those that are dropped.
  private let feed: EventFeed?

  /// Bytes of a line that isn't kept and that `feed` gets.
  private static let longestUnkept = 4096

  init(limit: Int, feed: EventFeed? = nil) {
    self.limit = limit
    self.feed = feed
  }

  private static let levels = ["debug", "info", "default", "error", "fault"]

  mutating func record(level: UInt8, subsystem: String, category: String, message: String) {
    keep(
      .init(level: Self.levels[Int(min(level, 4))], subsystem: subsystem, category: category, message: message),
      bytes: subsystem.utf8.count + category.utf8.count + message.utf8.count)
  }

  /// The beginning of a line of output whose end hasn't come: as much of it as may be kept, and its bytes in all.
  private var begun: [UInt8] = []
  private var begunBytes = 0

  /// What a plugin wrote to its standard output and error, line by line, wherever it was cut on its way.
  mutating func recordOutput(_ bytes: UnsafeRawBufferPointer) {
    var rest = bytes
    // Searched by libc: what is only counted must not cost more than it took the plugin to write, in a debug build neither.
    while let start = rest.baseAddress, let end = memchr(start, Int32(UInt8(ascii: "\n")), rest.count) {
      let count = UnsafeRawPointer(end) - start
      begin(.init(rebasing: rest[..<count]))
      finishOutput()
      rest = .init(rebasing: rest[(count + 1)...])
    }
    begin(rest)
  }

  /// The line that was begun goes no further.
  mutating func finishOutput() {
    defer {
      begun.removeAll(keepingCapacity: true)
      begunBytes = 0
    }
    if begunBytes == 0 { return }
    // Beyond the limit lines are counted, not read: a flood of them has to cost less than it takes to write.
    guard hasRoom(for: begunBytes) else {
      drop(begunBytes)
      feed?.tell { .logged(output) }
      return
    }
    keep(output, bytes: begunBytes)
  }

  private var output: RunReport.LogLine {
    .init(level: "default", subsystem: "", category: "output", message: String(decoding: begun, as: UTF8.self))
  }

  private func hasRoom(for bytes: Int) -> Bool { used + bytes + 16 <= limit }

  private mutating func begin(_ bytes: UnsafeRawBufferPointer) {
    begunBytes += bytes.count
    if hasRoom(for: begunBytes) {
      begun += bytes
    } else if begun.count < Self.longestUnkept, feed?.isWanted ?? false {
      begun += bytes.prefix(Self.longestUnkept - begun.count)
    }
  }

  private mutating func drop(_ bytes: Int) {
    droppedBytes += bytes
    droppedLines += 1
  }

  /// `bytes`: how many of the line are the plugin's.
  private mutating func keep(_ line: RunReport.LogLine, bytes: Int) {
    // A line of nothing still takes room.
    feed?.tell { .logged(line) }
    guard hasRoom(for: bytes) else { return drop(bytes) }
    used += bytes + 16
    lines.append(line)
  }
}
