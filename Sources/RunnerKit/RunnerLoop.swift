internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem
internal import Sandbox

/// Answers the host, one message at a time, on the process's first thread.
struct RunnerLoop {
  /// The host bounds what it asks by the run's limits, which it alone knows.
  private var channel = Channel(Runner.control, longestPayload: Limits.frameBytesRange.upperBound)
  private var plugin: LoadedPlugin?
  private let deep: Bool

  init(deep: Bool) { self.deep = deep }

  mutating func run() -> Never {
    while var frame = channel.receive() {
      guard let message = try? HostMessage(frame) else { break }
      // It may be long, and the plugin's memory pays for it.
      frame.payload = []
      let answer: RunnerMessage?
      switch message {
      case .load(let request): answer = load(request)
      case .call(let call): answer = perform(call)
      }
      ol_flush_output()
      guard let answer, channel.send(answer.frame(id: frame.id)) else { break }
    }
    ol_exit_now(0)
  }

  private mutating func load(_ request: HostMessage.LoadRequest) -> RunnerMessage {
    do {
      let loaded = try LoadedPlugin(request, deep: deep)
      plugin = loaded
      return .loaded(loaded.description)
    } catch {
      return .loadFailed(error.message)
    }
  }

  private func perform(_ call: HostMessage.Call) -> RunnerMessage? {
    guard let plugin else { return nil }
    if case .function(let symbol, let signature, let arguments) = call {
      return FunctionCaller.call(symbol, signature, arguments, in: plugin)
    }
    return EntryPointCaller(plugin: plugin).call(call)
  }
}
