internal import AssetModel
internal import Foundation
internal import Glibc
public import Logging

/// One line per event on standard error: as text, as JSON, or with the levels that the journal of systemd reads
/// (sd-daemon(3)).
public struct ServiceLog: LogHandler {
  /// What a line looks like: for people, as a JSON object, or with the priorities of sd-daemon(3).
  public enum Format: String, Sendable, CaseIterable { case text, json, journal }

  /// What goes with every line.
  public var metadata: Logger.Metadata = [:]
  /// The least level that is written.
  public var logLevel: Logger.Level = .info
  private let format: Format
  private let file: BoundedLogFile?

  /// Creates a log on standard error.
  ///
  /// - Parameter format: What a line looks like.
  public init(_ format: Format) { self.init(format, file: nil) }

  /// `file`: what standard error is.
  init(_ format: Format, file: BoundedLogFile?) {
    self.format = format
    self.file = file
  }

  /// One value of `metadata`.
  ///
  /// - Parameter key: Its name.
  public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  /// Writes one line, with a single write(2).
  ///
  /// - Parameter event: What happened.
  public func log(event: LogEvent) {
    var values = metadata.merging(event.metadata ?? [:]) { $1 }.mapValues { "\($0)" }
    let message = "\(event.message)"
    switch format {
    case .json:
      values["at"] = Timestamp.text(Date())
      values["level"] = event.level.rawValue
      values["message"] = message
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      if let line = try? encoder.encode(values) { write(String(decoding: line, as: UTF8.self)) }
    case .text:
      write("\(Timestamp.text(Date())) \(event.level.rawValue) \(Printable.text(message, limit: 2000))\(shown(values))")
    case .journal: write("<\(event.level.priority)>\(Printable.text(message, limit: 2000))\(shown(values))")
    }
  }

  private func shown(_ values: [String: String]) -> String {
    values.sorted { $0.key < $1.key }.map { " \($0.key)=\(Printable.text($0.value, limit: 500))" }.joined()
  }

  private func write(_ line: String) {
    // One write(2), so that lines of several threads don't mix.
    if let file { return file.write(line + "\n") }
    var line = line + "\n"
    line.withUTF8 { _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}

/// ISO 8601 in UTC, with milliseconds.
enum Timestamp {
  static func text(_ date: Date) -> String { date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)) }

  /// Nanoseconds since 1970.
  static func text(wall: Int64) -> String { text(Date(timeIntervalSince1970: Double(wall) / 1e9)) }
}

extension Logger.Level {
  /// Of syslog(3).
  fileprivate var priority: Int {
    switch self {
    case .trace, .debug: 7
    case .info: 6
    case .notice: 5
    case .warning: 4
    case .error: 3
    case .critical: 2
    }
  }
}
