internal import PluginHost
internal import Sandbox

/// Which system calls a trace shows.
struct TraceFilter: Sendable {
  /// Calls by name; nil: all that the host sees anyway.
  private var names: Set<String>?
  private var showsFiles = false
  private var showsCode = false
  private var showsDenied = false

  init(_ text: String?) throws {
    guard let text else { return }
    var names: Set<String> = []
    for word in text.split(separator: ",", omittingEmptySubsequences: false).map(String.init) {
      switch word {
      case "files": showsFiles = true
      case "code": showsCode = true
      case "denied": showsDenied = true
      default:
        guard let calls = SystemCallGroup.named(word)?.calls ?? (SystemCalls.isKnown(word) ? [word] : nil) else {
          throw Failure(
            64,
            "--trace-only: '\(word.prefix(60))' is neither a system call nor one of files, code, denied, \(SystemCallGroup.all.map(\.name).joined(separator: ", "))"
          )
        }
        let shown = calls.filter { call in
          !SystemCalls.isFree(call) || !SystemCalls.indispensable.contains(call)
            || !SystemCalls.pathArguments(of: call).isEmpty
        }
        guard !shown.isEmpty else {
          throw Failure(
            64,
            "--trace-only: '\(word.prefix(60))' can't be shown: without it no plugin could be called, so the host never sees it"
          )
        }
        names.formUnion(shown)
      }
    }
    self.names = names
  }

  /// What the filter has to hand over besides.
  var calls: Set<String> { names ?? [] }

  func shows(_ event: SystemCallTrace.Event) -> Bool {
    guard let names else { return true }
    if names.contains(event.name) { return true }
    if showsFiles, !SystemCalls.pathArguments(of: event.name).isEmpty { return true }
    if showsCode, ["mmap", "mprotect", "pkey_mprotect"].contains(event.name) { return true }
    return showsDenied && ![.passed, .granted].contains(event.verdict)
  }
}
