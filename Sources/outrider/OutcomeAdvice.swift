internal import PluginHost
internal import Sandbox

/// What a person can do about an outcome, where an option of the command is the answer. The host knows of no options.
enum OutcomeAdvice {
  static func detail(of report: RunReport, _ limits: Limits) -> String {
    let outcome = report.outcome
    // What AddressSanitizer says of itself, before it ends the process.
    if outcome.kind == .crashed, report.log.contains(where: { $0.message.contains(" runtime does not come first") }) {
      return "\(outcome.detail); a sanitizer needs --no-sandbox"
    }
    guard outcome.kind == .memoryExceeded else { return outcome.detail }
    let more = max(limits.memory, 1 << 20)
    // Twice as much is a value that can be tried.
    let (doubled, overflow) = more.multipliedReportingOverflow(by: 2)
    let size = overflow ? "SIZE" : doubled % (1 << 20) == 0 ? "\(doubled >> 20)MiB" : "\((doubled >> 10) + 1)KiB"
    return "\(outcome.detail); --memory gives it more, for example --memory \(size)"
  }
}
