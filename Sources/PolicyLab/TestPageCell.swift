internal import PluginHost

/// What one wall did in one row of the page. A pure value.
struct TestPageCell: Equatable {
  /// Also the name of its class in the style.
  enum State: String, CaseIterable {
    case denied, ended, absent, none

    /// Told apart without colour.
    var sign: String {
      switch self {
      case .denied: "⊘"
      case .ended: "■"
      case .absent: "○"
      case .none: "·"
      }
    }

    var meaning: String {
      switch self {
      case .denied: "denied, how often"
      case .ended: "ended the run"
      case .absent: "asked for a file that isn't there"
      case .none: "denied nothing"
      }
    }

    /// Whether the wall kept the plugin from something.
    var isOfWall: Bool { self == .denied || self == .ended }
  }

  let state: State
  /// How often it denied something, or how often what was asked for isn't there.
  let count: Int

  init(_ wall: String, _ observed: Observed) {
    let own = observed.denials.filter { $0.wall == wall }
    let refused = own.reduce(0) { $0 + ($1.isAbsent ? 0 : $1.count) }
    if Self.wall(ending: observed.outcome.kind) == wall {
      (state, count) = (.ended, refused)
    } else if refused > 0 {
      (state, count) = (.denied, refused)
    } else {
      count = own.reduce(0) { $0 + $1.count }
      state = count > 0 ? .absent : .none
    }
  }

  var text: String { count > 0 ? "\(state.sign) \(Self.short(count))" : state.sign }

  var words: String {
    let times = count == 1 ? "once" : "\(count) times"
    return switch state {
    case .denied: "denied \(times)"
    case .ended: "ended the run" + (count > 0 ? ", denied \(times)" : "")
    case .absent: "nothing there, asked for \(times)"
    case .none: "nothing denied"
    }
  }

  /// The usual ones, and others that denied something.
  static func walls(of results: [PolicyTestResult]) -> [String] {
    let usual = ["seccomp", "files", "limits", "network"]
    let others = Set(results.flatMap { $0.observed.denials.map(\.wall) }).subtracting(usual)
    return usual + others.sorted()
  }

  private static func wall(ending kind: Outcome.Kind) -> String? {
    switch kind {
    case .wallTimeExceeded, .cpuTimeExceeded, .memoryExceeded, .runtimeBudgetExhausted: "limits"
    case .policyViolation: "seccomp"
    default: nil
    }
  }

  /// How a run ended, in kinds that have a colour each: the names of their classes in the style.
  static func family(of kind: Outcome.Kind) -> String {
    switch kind {
    case .returned: "returned"
    case .wallTimeExceeded, .cpuTimeExceeded, .memoryExceeded, .runtimeBudgetExhausted: "limited"
    case .policyViolation: "refused"
    case .crashed, .protocolViolation: "broken"
    case .loadFailed, .entryPointMissing: "missing"
    case .wallUnavailable, .hostFailed, .cancelled: "host"
    }
  }

  /// In at most four characters, up to a billion.
  private static func short(_ count: Int) -> String {
    switch count {
    case ..<10_000: "\(count)"
    case ..<1_000_000: "\(count / 1000)k"
    default: "\(count / 1_000_000)M"
    }
  }
}
