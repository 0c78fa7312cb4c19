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
    return switch (report.outcome.kind, report.outcome.cause) {
    case (.crashed, .sanitizer): "a sanitizer needs --no-sandbox"
    case (.crashed, .faultWithoutPlace):
      "nothing could say where: a stack smaller than 512 KiB overflowed, or the plugin changed how the signal is handled, or wrote over what tells it; --debug shows it"
    case (.crashed, nil) where isInCLibraryAlone(report):
      "none of the plugin's functions is known to have been under way: it may have written beyond its memory before"
    case (.loadFailed, .fileNotFound(let path)):
      isOfPlugin(path, report)
        ? report.plugin.map { "'outrider inspect \(Printable.text($0.path, limit: 200))' says what kind of file it is" }
        : "it is found beside the library that was linked with -Wl,-rpath,'$ORIGIN', and where the system's loader looks"
    case (.entryPointMissing, _):
      report.plugin.map { "'outrider inspect \(Printable.text($0.path, limit: 200))' lists what it has" }
    default: nil
    }
  }

  /// Whether it crashed in the C library, which isn't the plugin itself, and nothing called that as far as anybody knows: as where the
  /// runner frees what the plugin wrote over, after its function returned.
  private static func isInCLibraryAlone(_ report: RunReport) -> Bool {
    !report.stack.isEmpty && report.stack.allSatisfy { $0.library == CLibrary.fileName }
      && report.plugin?.path.pathNames.last != CLibrary.fileName
  }

  /// Whether the loader found the plugin's own file missing, or none that it can load: it names the path that the runner has.
  private static func isOfPlugin(_ path: String, _ report: RunReport) -> Bool {
    guard let name = report.plugin?.path.pathNames.last else { return false }
    return path == "\(RunnerView.bundle)/\(name)"
  }

  private static func gives(_ limit: LimitRemedy, _ options: SandboxOptions) -> String {
    let option = ["memory": options.memory, "wall": options.wall, "cpu": options.cpu][limit.name] ?? nil
    guard let file = options.policy, option == nil, !PolicyInput.isShipped(file) else {
      return "--\(limit.name) gives it more, for example --\(limit.name) \(limit.value)"
    }
    return "policy: \(limit.text)"
  }
}
