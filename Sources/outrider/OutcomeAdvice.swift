internal import PluginHost
internal import Sandbox

/// What a person can do about an outcome, where an option of the command is the answer. The host knows of no options.
enum OutcomeAdvice {
  static func detail(of outcome: Outcome, _ limits: Limits) -> String {
    guard outcome.kind == .memoryExceeded else { return outcome.detail }
    let more = max(limits.memory, 1 << 20)
    // Twice as much is a value that can be tried.
    let (doubled, overflow) = more.multipliedReportingOverflow(by: 2)
    let size = overflow ? "SIZE" : doubled % (1 << 20) == 0 ? "\(doubled >> 20)MiB" : "\((doubled >> 10) + 1)KiB"
    return "\(outcome.detail); --memory gives it more, for example --memory \(size)"
  }
}
