import Logging
import Synchronization

/// What a service logs.
final class RecordedLog: Sendable {
  private let lines = Mutex<[String]>([])

  var all: [String] { lines.withLock { $0 } }
  var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

  private struct Handler: LogHandler {
    let log: RecordedLog
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(
      level: Logger.Level, message: Logger.Message, metadata: Logger.Metadata?, source: String, file: String,
      function: String, line: UInt
    ) {
      log.lines.withLock { $0.append("\(level) \(message)") }
    }
  }
}
