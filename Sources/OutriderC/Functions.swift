public import COutrider
internal import Glibc
internal import LinuxSystem
internal import PluginHost
internal import StrictYAML

private let hosts = Objects<PluginHost>()
let plugins = Objects<Plugin>()
private let replies = Objects<Reply>()
var pluginIsGone: String { Process.absence("this plugin was freed, or never was one") }

/// Puts a sentence where C wants it, and says the status.
func fail(
  _ status: outrider_status, _ sentence: String, _ error: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 {
  error?.pointee = strdup(sentence)
  return Int32(bitPattern: status.rawValue)
}

func fail(_ cause: HostError, _ error: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> Int32 {
  let status =
    switch cause {
    case .ended: OUTRIDER_ENDED
    case .usage, .excess: OUTRIDER_USAGE
    case .input: OUTRIDER_INPUT
    case .entryPointMissing: OUTRIDER_MISSING
    default: OUTRIDER_FAILED
    }
  return fail(status, "\(cause)", error)
}

/// Waits for `body`, and hands its result over or says why there is none.
func finish<Value: Sendable>(
  _ error: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?,
  _ body: @escaping @Sendable () async throws(HostError) -> Value, then done: (Value) -> Void
) -> Int32 {
  let result = wait { () async -> Result<Value, HostError> in
    do throws(HostError) { return .success(try await body()) } catch { return .failure(error) }
  }
  switch result {
  case .success(let value):
    done(value)
    return Int32(bitPattern: OUTRIDER_OK.rawValue)
  case .failure(let cause): return fail(cause, error)
  }
}

/// The version of the interface: `outrider_abi_version` of outrider.h, which has the parameters, results and errors.
@_cdecl("outrider_abi_version")
public func abiVersion() -> UInt32 { UInt32(OUTRIDER_ABI_VERSION) }

/// Frees a text that was handed over: `outrider_text_free` of outrider.h, which has the parameters, results and errors.
@_cdecl("outrider_text_free")
public func freeText(_ text: UnsafeMutablePointer<CChar>?) { free(text) }

/// Makes a host: `outrider_host_new` of outrider.h, which has the parameters, results and errors.
@_cdecl("outrider_host_new")
public func newHost(
  _ runner: UnsafePointer<CChar>?, _ error: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> OpaquePointer? {
  error?.pointee = nil
  func refuse(_ status: outrider_status, _ sentence: String) -> OpaquePointer? {
    _ = fail(status, sentence, error)
    return nil
  }
  guard !Process.wasForked else { return refuse(OUTRIDER_FAILED, Process.forkedSentence) }
  guard Process.hasDescriptors else {
    return refuse(OUTRIDER_FAILED, "too few descriptors are left for a host: raise the limit of open files (ulimit -n)")
  }
  if let shortage = Process.threadShortage { return refuse(OUTRIDER_FAILED, shortage.description) }
  var path: String?
  if let runner {
    path = text(runner)
    guard path != nil else { return refuse(OUTRIDER_USAGE, "the runner's path isn't UTF-8") }
  }
  _ = Process.hasDispatch
  var pointer: OpaquePointer?
  // Not on the caller's stack, of which there may be little.
  _ = finish(error) { [path] () async throws(HostError) in
    var configuration = PluginHost.Configuration()
    configuration.runner = path ?? OwnPlace.runner
    return try PluginHost(configuration: configuration)
  } then: {
    pointer = hosts.add($0)
  }
  return pointer
}

/// Ends a host and all of its plugins: `outrider_host_free` of outrider.h, which has the parameters, results and errors.
@_cdecl("outrider_host_free")
public func freeHost(_ host: OpaquePointer?) {
  guard let found = hosts.remove(host) else { return }
  let own = plugins.all.filter { $0.runs(in: found) }
  // Each has its report afterwards.
  wait { await withTaskGroup { group in for plugin in own { group.addTask { _ = await plugin.end() } } } }
  for plugin in own { waitForCallbacks(of: plugin) }
  found.stop()
}

private func waitForCallbacks(of plugin: Plugin) {
  for callback in callbacks.all where callback.plugin === plugin { callback.waitForCalls() }
}

/// Loads a library: `outrider_load` of outrider.h, which has the parameters, results and errors.
@_cdecl("outrider_load")
public func load(
  _ host: OpaquePointer?, _ library: UnsafePointer<CChar>?, _ policy: UnsafePointer<CChar>?,
  _ plugin: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 {
  error?.pointee = nil
  plugin?.pointee = nil
  guard let found = hosts[host] else {
    return fail(OUTRIDER_USAGE, Process.absence("this host was freed, or never was one"), error)
  }
  guard let library, let plugin else {
    return fail(OUTRIDER_USAGE, "a load needs a library, and a place for its plugin", error)
  }
  guard let name = text(library) else { return fail(OUTRIDER_USAGE, "the library's path isn't UTF-8", error) }
  var rules: String?
  if let policy {
    rules = text(policy)
    guard rules != nil else { return fail(OUTRIDER_USAGE, "the policy isn't UTF-8", error) }
  }
  return finish(error) { [rules] () async throws(HostError) in
    var allowed = Policy()
    if let rules {
      let shipped = ShippedPolicy(rawValue: rules)
      // A policy of one line without a colon is no policy.
      if shipped == nil, !rules.contains(where: { [":", "\n"].contains($0) }) {
        let names = ShippedPolicy.allCases.map(\.rawValue).joined(separator: ", ")
        throw .usage(
          "there is no policy \(String(rules.prefix(60)).debugDescription); name one that comes with outrider (\(names)), or give a policy's text: no file is read"
        )
      }
      do throws(YAMLFileError) {
        allowed = try Policy(parsing: shipped?.text ?? rules, file: "the policy")
      } catch {
        throw .usage(error.description)
      }
    }
    return try await found.load(name, policy: allowed)
  } then: {
    plugin.pointee = plugins.add($0)
  }
}

/// Calls a function: `outrider_call` of outrider.h, which has the parameters, results and errors.
@_cdecl("outrider_call")
public func call(
  _ plugin: OpaquePointer?, _ symbol: UnsafePointer<CChar>?, _ signature: UnsafePointer<CChar>?,
  _ arguments: UnsafePointer<outrider_value>?, _ count: Int, _ seconds: Double,
  _ reply: UnsafeMutablePointer<OpaquePointer?>?,
  _ error: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 {
  error?.pointee = nil
  reply?.pointee = nil
  guard let found = plugins[plugin] else {
    return fail(OUTRIDER_USAGE, pluginIsGone, error)
  }
  guard let symbol, let signature else {
    return fail(OUTRIDER_USAGE, "a call needs a function and its signature", error)
  }
  guard seconds >= 0, seconds <= Double(Limits.longestTime.components.seconds) else {
    return fail(OUTRIDER_USAGE, "a call can't be given \(seconds) s", error)
  }
  var reader = Arguments()
  guard let given = reader.read(arguments, count) else {
    return fail(OUTRIDER_USAGE, "one of the arguments is no value of this library's", error)
  }
  guard let name = text(symbol), let form = text(signature) else {
    return fail(OUTRIDER_USAGE, "the function's name or its signature isn't UTF-8", error)
  }
  let limit: Duration? = seconds > 0 ? .seconds(seconds) : nil
  return finish(error) { () async throws(HostError) in
    try await found.call(name, form, arguments: given, within: limit)
  } then: {
    reply?.pointee = replies.add(Reply($0))
  }
}

/// What a call returned: `outrider_reply_value` of outrider.h, which has the parameters, results and errors.
@_cdecl("outrider_reply_value")
public func replyValue(_ reply: OpaquePointer?) -> outrider_value { replies[reply]?.value ?? outrider_value() }

/// An argument that came back: `outrider_reply_output` of outrider.h, which has the parameters, results and errors.
@_cdecl("outrider_reply_output")
public func output(_ reply: OpaquePointer?, _ index: Int) -> outrider_value {
  guard let outputs = replies[reply]?.outputs, outputs.indices.contains(index) else { return outrider_value() }
  return outputs[index]
}

/// How many came back: `outrider_reply_output_count` of outrider.h, which has the parameters, results and errors.
@_cdecl("outrider_reply_output_count")
public func outputCount(_ reply: OpaquePointer?) -> Int { replies[reply]?.outputs.count ?? 0 }

/// Frees what a call brought: `outrider_reply_free` of outrider.h, which has the parameters, results and errors.
@_cdecl("outrider_reply_free")
public func freeReply(_ reply: OpaquePointer?) { _ = replies.remove(reply) }

/// Forgets a handle: `outrider_handle_release` of outrider.h, which has the parameters, results and errors.
@_cdecl("outrider_handle_release")
public func releaseHandle(
  _ plugin: OpaquePointer?, _ handle: UInt64, _ error: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 {
  error?.pointee = nil
  guard let found = plugins[plugin] else { return fail(OUTRIDER_USAGE, pluginIsGone, error) }
  do throws(HostError) { try found.release(PluginHandle(ofC: handle)) } catch let cause { return fail(cause, error) }
  return Int32(bitPattern: OUTRIDER_OK.rawValue)
}

/// Ends a plugin and reports its run: `outrider_plugin_report` of outrider.h, which has the parameters, results and errors.
@_cdecl("outrider_plugin_report")
public func report(_ plugin: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
  guard let found = plugins[plugin] else { return nil }
  return strdup(wait { ReportText(await found.end()).text })
}

/// Ends a plugin and lets it go: `outrider_plugin_free` of outrider.h, which has the parameters, results and errors.
@_cdecl("outrider_plugin_free")
public func freePlugin(_ plugin: OpaquePointer?) {
  guard let found = plugins.remove(plugin) else { return }
  _ = wait { await found.end() }
  // They would keep it, and it its host.
  _ = memories.removeAll { $0.plugin === found }
  for callback in callbacks.removeAll(where: { $0.plugin === found }) { callback.waitForCalls() }
}
