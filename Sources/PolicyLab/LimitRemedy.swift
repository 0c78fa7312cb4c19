package import PluginHost
package import Sandbox

/// Twice as much of the limit that ended a run: a value that can be tried.
package struct LimitRemedy: Sendable, Equatable {
  /// Its key under `limits`, and the option's.
  package var name: String
  /// As a policy and the option have it.
  package var value: String

  /// Nil: no such limit ended it.
  package init?(for kind: Outcome.Kind, _ limits: Limits) {
    switch kind {
    case .memoryExceeded: (name, value) = ("memory", Self.size(twice: max(limits.memory, 1 << 20)))
    case .wallTimeExceeded: (name, value) = ("wall", Self.time(twice: limits.wallTime))
    case .cpuTimeExceeded: (name, value) = ("cpu", Self.time(twice: limits.cpu))
    default: return nil
    }
  }

  /// The line of a policy or of a test, and what it gives.
  package var text: String { "limits: {\(name): \(value)}  # twice as much" }

  static func size(twice bytes: Int) -> String {
    let (doubled, overflow) = bytes.multipliedReportingOverflow(by: 2)
    return overflow ? "SIZE" : doubled % (1 << 20) == 0 ? "\(doubled >> 20)MiB" : "\((doubled >> 10) + 1)KiB"
  }

  private static func time(twice time: Duration) -> String {
    let (seconds, attoseconds) = min(time * 2, Limits.longestTime).components
    return attoseconds == 0
      ? "\(seconds)s" : "\(seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)ms"
  }
}
