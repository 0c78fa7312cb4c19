internal import ArgumentParser
internal import Foundation
internal import HostProtocol
internal import PluginHost
internal import PolicyLab
internal import Sandbox

struct CallCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "call", abstract: "Calls any function of any shared library, inside the walls.",
    usage: "outrider call [<options>] <library> <symbol> <signature> [<argument> ...]",
    discussion: """
      SIGNATURE is RETURN(ARGUMENTS) with the types void i8 u8 i16 u16 i32 u32 i64 u64 f32 f64 pointer cstring bytes \
      out(N) inout(N) handle callback, structures {T,T} with arrays [N]T among their fields, and the address of a value: &T (given), \
      'out T' (comes back) and 'inout T' (both). 'bytes' and inout(N) take text, hex:0a1b or @FILE and pass its address; \
      a structure takes {1,2.5,[3,4]}, and hex:0a1b for [N]u8. out(N) and 'out T' take no argument; handle and callback take null. What comes back \
      follows the result, a line for each: N bytes as hex, or the value. A call and its answer have as many bytes as \
      --memory, at least 4 MiB; in the plugin an argument takes twice its size and an out(N) three times of it. A LIBRARY \
      without '/' is looked up as the system's loader does.

      EXAMPLES
        outrider call libz.so.1 crc32 'u64(u64,bytes,u32)' 0 hello 5     907060870
        outrider call libm.so.6 pow 'f64(f64,f64)' 2 10                  1024.0
        outrider call libc.so.6 abs 'i32(i32)' -5                        5
        outrider call libc.so.6 strlen 'u64(cstring)' -- --wall          6
        outrider call libc.so.6 div '{i32,i32}(i32,i32)' 17 5            {3, 2}
        outrider call libm.so.6 frexp 'f64(f64,out i32)' 48              0.75, then 6
        outrider call libc.so.6 memfrob 'pointer(inout(2),u64)' hi 2     …, 4243
        outrider call libc.so.6 sleep 'u32(u32)' 30 --wall 300ms         killed, 12
        outrider call libc.so.6 open 'i32(cstring,i32)' /etc/passwd 0 --trace
      """)

  @OptionGroup var sandbox: SandboxOptions
  @OptionGroup var tracing: TraceOptions
  @OptionGroup var development: DevelopmentOptions
  @Argument(help: "A path to a .so, or a name such as libz.so.1.", completion: .file()) var library: String
  @Argument(help: "The function's name.") var symbol: String
  @Argument(help: "RETURN(ARGUMENTS), for example 'i32(i32)'.") var signature: String
  @Argument(parsing: .allUnrecognized, help: "One for each argument that isn't out(N) or 'out T'.") var arguments:
    [String] = []

  func run() async {
    do {
      var policy = try development.policy(sandbox, library, isTraced: tracing.trace)
      let values = try values(&policy)
      let printer = try tracing.printer(policy)
      let host = try sandbox.makeHost()
      defer { printer?.end() }
      let (report, result) = try await Interrupts.cancelling { [policy] in
        try await perform(host, policy, values, printer?.trace)
      }
      let places = await StackPlaces(report, host)
      host.stop()
      printer?.end()
      Interrupts.yieldToHandler { Output.report(report, places, policy, sandbox) }
      if sandbox.json {
        try JSONReport(report, places, policy: policy, options: sandbox, result: result).print()
      } else if let result {
        Output.result(result)
        if result.value.isCut { Output.note("the string is cut: 64 KiB of a result are read") }
      }
      if !sandbox.json || report.outcome.kind != .returned { Output.report(report, places, policy, sandbox) }
      printer?.leaveIfLost(report.outcome.kind.exitStatus)
      Exit.leave(report.outcome.kind.exitStatus)
    } catch {
      Exit.with(error)
    }
  }

  /// The arguments, and the policy with room for them.
  func values(_ policy: inout Policy) throws -> [CallArgument] {
    // What fits the plugin's memory may be asked of it.
    policy.limits.frameBytes = min(
      max(policy.limits.frameBytes, policy.limits.memory), Limits.frameBytesRange.upperBound)
    let values = try Self.arguments(arguments, signature) { [policy] path throws(HostError) in
      try PluginHost.content(of: path, limit: policy.limits.frameBytes, policy: policy, container: sandbox.container)
    }
    try PluginHost.check(symbol, signature, arguments: values, policy: policy)
    return values
  }

  func perform(
    _ host: PluginHost, _ policy: Policy, _ values: [CallArgument], _ trace: SystemCallTrace? = nil
  ) async throws -> (RunReport, RunnerMessage.CallResult?) {
    var options = PluginHost.LoadOptions()
    options.trace = trace
    sandbox.warnOfContainer()
    options.container = sandbox.container
    development.prepare(&options, library)
    let plugin: Plugin
    do {
      plugin = try await host.load(library, policy: policy, options: options)
    } catch {
      guard let report = error.report else { throw error }
      return (report, nil)
    }
    var result: RunnerMessage.CallResult?
    var failure: HostError?
    do {
      result = try await plugin.call(symbol, signature, arguments: values)
    } catch {
      failure = error
    }
    var report = await plugin.end()
    if case .entryPointMissing(let detail) = failure {
      report.outcome = Outcome(.entryPointMissing, detail)
    } else if let failure, failure.report == nil, !Interrupts.isInterrupted {
      throw failure
    }
    return (report, result)
  }

  /// Words to arguments, by the signature's types.
  static func arguments(
    _ given: [String], _ text: String, content: (String) throws(HostError) -> [UInt8]
  ) throws -> [CallArgument] {
    var words = given
    // What follows is an argument whatever it looks like.
    let terminator = words.firstIndex(of: "--")
    if let terminator { words.remove(at: terminator) }
    let signature: CallSignature
    do {
      signature = try CallSignature(parsing: text)
    } catch {
      throw Failure(64, "\(error)")
    }
    let kinds = signature.given
    if let option = words.prefix(terminator ?? words.count).first(where: { $0.hasPrefix("--") }),
      words.count != kinds.count
    {
      throw Failure(64, "unknown option '\(option)'; 'outrider call --help' lists them")
    }
    guard kinds.count == words.count else {
      throw Failure(
        64, "\(signature) takes \(kinds.count) arguments (out(N) and 'out T' take none); \(words.count) were given")
    }
    return try zip(words, kinds).enumerated().map { index, pair in
      guard let value = try CallWords.argument(pair.0, pair.1, content) else {
        let form =
          "\(pair.1)".contains("[") || "\(pair.1)".contains("{") ? "; an array is [1,2], a structure {1,2}" : ""
        throw Failure(64, "argument \(index + 1), '\(pair.0.prefix(60))', doesn't fit \(pair.1)\(form)")
      }
      return value
    }
  }
}

extension LimitsText {
  init(_ policy: Policy) {
    func text(_ duration: Duration) -> String {
      let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
      return seconds < 1
        ? "\(Int((seconds * 1000).rounded())) ms"
        : "\(seconds == seconds.rounded() ? "\(Int(seconds))" : "\(seconds)") s"
    }
    func limit(_ time: Duration) -> String { time == Limits.longestTime ? "any" : text(time) }
    let limits = policy.limits
    self.init(
      wall: limit(limits.wallTime), cpu: limit(limits.cpu),
      memory: limits.memory == Limits.maxBytes ? "any" : "\(limits.memory >> 10) KiB")
  }
}
