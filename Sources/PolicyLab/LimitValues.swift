internal import Foundation
package import Sandbox

/// The limits that a policy file can set, by their names there.
package enum LimitValues {
  package struct Value: Sendable, Equatable, Encodable {
    package var name: String
    /// Seconds, bytes or a number.
    package var number: Double
    package var text: String
    /// As policy files have it.
    package var written: String { text.filter { $0 != " " }.replacing("bytes", with: "B") }
  }

  package static func all(_ limits: Limits) -> [Value] {
    [
      Value(name: "wall", number: seconds(limits.wallTime), text: time(limits.wallTime)),
      Value(name: "cpu", number: seconds(limits.cpu), text: time(limits.cpu)),
      Value(name: "memory", number: Double(limits.memory), text: size(limits.memory)),
      Value(name: "openFiles", number: Double(limits.openFiles), text: "\(limits.openFiles)"),
      Value(name: "fileSize", number: Double(limits.fileSize), text: size(limits.fileSize)),
      Value(name: "threads", number: Double(limits.threads), text: "\(limits.threads)"),
      Value(name: "logBytes", number: Double(limits.logBytes), text: size(limits.logBytes)),
    ]
  }

  private static func seconds(_ duration: Duration) -> Double { duration / .seconds(1) }

  package static func time(_ duration: Duration) -> String {
    let value = seconds(duration)
    if value < 1 { return "\(String(format: "%g", value * 1000)) ms" }
    return "\(String(format: "%g", value)) s"
  }

  package static func milliseconds(_ seconds: Double) -> String { String(format: "%.1f ms", seconds * 1000) }

  package static func size(_ bytes: Int) -> String {
    for (unit, factor) in [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
    where bytes >= factor && bytes.isMultiple(of: factor) {
      return "\(bytes / factor) \(unit)"
    }
    return "\(bytes) bytes"
  }
}
