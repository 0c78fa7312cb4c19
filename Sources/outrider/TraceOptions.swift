internal import ArgumentParser
internal import PluginHost
internal import Sandbox

/// What `run` and `call` take for showing system calls as they happen.
struct TraceOptions: ParsableArguments {
  enum Format: String, ExpressibleByArgument, CaseIterable { case text, json }

  @Flag(
    help:
      "Show system calls as they happen: those that name files, map code, make threads or processes, connect, and all that is denied."
  )
  var trace = false
  @Option(
    help: ArgumentHelp(
      "With --trace: only these, and all of them: a group of system calls as policies name it (outrider policy show --groups), files, code, denied, or a call; with commas.",
      valueName: "groups"))
  var traceOnly: String?
  @Option(help: "With --trace: text, or json for an object a line (default: text).") var traceFormat: Format?
  @Option(help: "With --trace: write to this file instead of standard error.", completion: .file())
  var traceOutput: String?

  /// What `policy record` has no use for.
  var option: String? {
    let given = [
      (trace, "--trace"), (traceOnly != nil, "--trace-only"), (traceFormat != nil, "--trace-format"),
      (traceOutput != nil, "--trace-output"),
    ]
    return given.first { $0.0 }?.1
  }

  /// nil: no trace.
  func printer(_ policy: Policy) throws -> TracePrinter? {
    guard trace else {
      if let option { throw Failure(64, "\(option) needs --trace") }
      return nil
    }
    return try TracePrinter(TraceFilter(traceOnly), format: traceFormat ?? .text, output: traceOutput, policy: policy)
  }
}
