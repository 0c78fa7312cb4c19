internal import AssetModel
internal import Basics
internal import PluginHost
internal import PolicyLab
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
    if let limit = LimitRemedy(for: report.outcome.kind, limits) { return gives(limit, options) }
    return switch report.outcome.kind {
    // What AddressSanitizer says of itself, before it ends the process.
    case .crashed where report.log.contains { $0.message.contains(" runtime does not come first") }:
      "a sanitizer needs --no-sandbox"
    case .crashed
    where ["SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE"].contains { report.outcome.detail.hasPrefix("ended by \($0)") }:
      "nothing could say where: a stack smaller than 512 KiB overflowed, or the plugin changed how the signal is handled, or wrote over what tells it; --debug shows it"
    case .crashed where isInLibraryAlone(report) && !report.outcome.detail.contains("EFLAGS.AC"):
      "none of the plugin's functions is known to have been under way: it may have written beyond its memory before"
    case .loadFailed where report.outcome.detail.contains(": cannot open shared object file"):
      isOfPlugin(report)
        ? report.plugin.map { "'outrider inspect \(Printable.text($0.path, limit: 200))' says what kind of file it is" }
        : "it is found beside the library that was linked with -Wl,-rpath,'$ORIGIN', and where the system's loader looks"
    case .entryPointMissing:
      report.plugin.map { "'outrider inspect \(Printable.text($0.path, limit: 200))' lists what it has" }
    default: nil
    }
  }

  /// Whether it crashed in the C library, and nothing called that as far as anybody knows: as where the runner frees what the plugin
  /// wrote over, after its function returned.
  private static func isInLibraryAlone(_ report: RunReport) -> Bool {
    !report.stack.isEmpty && report.stack.allSatisfy { $0.library.hasPrefix("libc.so") }
  }

  /// Whether what the loader says is about the plugin's own file.
  private static func isOfPlugin(_ report: RunReport) -> Bool {
    guard let name = report.plugin?.path.pathNames.last else { return false }
    return report.outcome.detail.hasPrefix("\(RunnerView.bundle)/\(Printable.text(name, limit: 200)): ")
  }

  private static func gives(_ limit: LimitRemedy, _ options: SandboxOptions) -> String {
    let option = ["memory": options.memory, "wall": options.wall, "cpu": options.cpu][limit.name] ?? nil
    guard let file = options.policy, option == nil, !PolicyInput.isShipped(file) else {
      return "--\(limit.name) gives it more, for example --\(limit.name) \(limit.value)"
    }
    return "policy: \(limit.text)"
  }
}
