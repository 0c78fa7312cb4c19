internal import AssetModel
internal import Basics
internal import PluginHost
internal import Sandbox

/// What a person can do about an outcome, where an option or another command is the answer. The host knows of none.
enum OutcomeAdvice {
  /// `options`: those that the run was given. A limit of its policy file is raised there, unless an option has taken its place.
  static func detail(of report: RunReport, _ limits: Limits, _ options: SandboxOptions) -> String {
    let outcome = report.outcome
    guard let advice = advice(for: report, limits, options) else { return outcome.detail }
    return outcome.detail.isEmpty ? advice : "\(outcome.detail); \(advice)"
  }

  private static func advice(for report: RunReport, _ limits: Limits, _ options: SandboxOptions) -> String? {
    func gives(_ limit: String, _ value: String, isOption: Bool) -> String {
      guard let file = options.policy, !isOption, !PolicyInput.isShipped(file) else {
        return "--\(limit) gives it more, for example --\(limit) \(value)"
      }
      return "policy: limits: {\(limit): \(value)}  # twice as much"
    }
    return switch report.outcome.kind {
    // Twice as much is a value that can be tried.
    case .memoryExceeded:
      gives("memory", size(twice: max(limits.memory, 1 << 20)), isOption: options.memory != nil)
    case .wallTimeExceeded: gives("wall", time(twice: limits.wallTime), isOption: options.wall != nil)
    case .cpuTimeExceeded: gives("cpu", time(twice: limits.cpu), isOption: options.cpu != nil)
    // What AddressSanitizer says of itself, before it ends the process.
    case .crashed where report.log.contains { $0.message.contains(" runtime does not come first") }:
      "a sanitizer needs --no-sandbox"
    case .loadFailed where report.outcome.detail.contains(": cannot open shared object file"):
      "it is found beside the library that was linked with -Wl,-rpath,'$ORIGIN', and where the system's loader looks"
    case .entryPointMissing:
      report.plugin.map { "'outrider explore \(Printable.text($0.path, limit: 200))' lists what it has" }
    default: nil
    }
  }

  private static func size(twice bytes: Int) -> String {
    let (doubled, overflow) = bytes.multipliedReportingOverflow(by: 2)
    return overflow ? "SIZE" : doubled % (1 << 20) == 0 ? "\(doubled >> 20)MiB" : "\((doubled >> 10) + 1)KiB"
  }

  private static func time(twice time: Duration) -> String {
    let (seconds, attoseconds) = min(time * 2, Limits.longestTime).components
    return attoseconds == 0
      ? "\(seconds)s" : "\(seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)ms"
  }
}
